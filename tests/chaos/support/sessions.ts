import pg from 'pg';

/** Looks at a PostgreSQL database's sessions without a pause, and remembers the most that ran statements at one time. */
export async function watchSessions(url: string, database: string) {
  const client = new pg.Client(url);
  await client.connect();
  const seen = { most: 0, now: 0, looks: 0 };
  let stopped = false;
  const look = async () => {
    while (!stopped) {
      const { rows } = await client.query(
        "SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = $1 AND state <> 'idle'",
        [database],
      );
      seen.now = rows[0].n;
      seen.most = Math.max(seen.most, seen.now);
      seen.looks++;
    }
  };
  const looking = look();
  return {
    seen,
    close: async () => {
      stopped = true;
      await looking;
      await client.end();
    },
  };
}
