/** The table of the small execution. */

import pg from 'pg';

export async function setUpSmall(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(
    'CREATE TABLE IF NOT EXISTS bench_one (id int PRIMARY KEY, name text, amount numeric(10, 2))',
  );
  await client.query(
    "INSERT INTO bench_one SELECT n, 'name ' || n, n * 1.5 FROM generate_series(1, 1000) n ON CONFLICT DO NOTHING",
  );
  await client.end();
}
