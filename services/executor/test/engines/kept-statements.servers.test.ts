/** What connections keep of prepared statements is bounded for all of them, and what is not kept runs as well. */

import type { EngineName } from '@datahub/contract/engines';
import { afterEach, describe, expect, it } from 'vitest';
import { createEngines } from '../../src/engines/index.ts';
import { KeptStatements } from '../../src/engines/shared/kept-statements.ts';
import type { Connection, Statement } from '../../src/ports/engine.ts';
import type { KeptOfAccount } from '../../src/ports/server-stream.ts';
import { ask, dial, settingsOf } from '../fixture.ts';

const { POSTGRES_URL, MARIADB_URL, MYSQL_URL } = process.env;
const servers: [EngineName, string | undefined][] = [
  ['postgres', POSTGRES_URL],
  ['mariadb', MARIADB_URL],
  ['mysql', MYSQL_URL],
];

/** The room of an account, and how much of it is taken. */
function countOf(room: KeptOfAccount) {
  const taken = { bytes: 0, refused: 0 };
  const kept: KeptOfAccount = {
    take: (bytes) => {
      const isTaken = room.take(bytes);
      if (isTaken) taken.bytes += bytes;
      else taken.refused++;
      return isTaken;
    },
    give: (bytes) => {
      room.give(bytes);
      taken.bytes -= bytes;
    },
  };
  return { kept, taken };
}

const none: KeptOfAccount = { take: () => false, give: () => {} };

describe.each(servers)('statements of %s', (engine, url) => {
  const opened: Connection[] = [];
  afterEach(() => {
    for (const connection of opened.splice(0)) connection.close();
  });
  const connect = async (kept: KeptOfAccount) => {
    const deps = { dial, signal: AbortSignal.timeout(20_000), kept };
    const connection = await createEngines()[engine].connect(settingsOf(engine, url as string), deps);
    opened.push(connection);
    return connection;
  };
  const wide = (of: number) =>
    `SELECT ${Array.from({ length: 1_000 }, (_, i) => `${of} AS c${i}`).join(', ')}`;

  it.skipIf(url === undefined)(
    'are kept while there is room, which a closed connection gives back',
    async () => {
      const { kept, taken } = countOf(new KeptStatements(4 * 1_048_576).of('a'));
      const all = [await connect(kept), await connect(kept)];
      for (let i = 0; i < 4; i++)
        for (const connection of all) expect((await ask(connection, wide(i))).data[0]?.c999).toBe(i);
      expect(taken.bytes).toBeGreaterThan(1_048_576);
      expect(taken.bytes).toBeLessThanOrEqual(2.5 * 1_048_576);
      expect(taken.refused).toBeGreaterThan(0);
      for (const connection of all) connection.close();
      expect(taken.bytes).toBe(0);
    },
  );

  it.skipIf(url === undefined)('run without any room, also twice, and in a snapshot', async () => {
    const connection = await connect(none);
    for (let i = 0; i < 3; i++) expect((await ask(connection, wide(7))).data[0]?.c0).toBe(7);
    const next: Statement = { key: 'next', text: wide(8), params: [], kind: 'read' };
    await ask(connection, wide(7), { snapshot: { next } });
    expect((await ask(connection, next.text, { key: 'next', snapshot: 'last' })).data[0]?.c0).toBe(8);
    if (engine !== 'postgres') return;
    // The first is this one.
    const names = `SELECT count(*)::int AS n FROM pg_prepared_statements WHERE name LIKE 'dh%' AND statement LIKE '%c999%'`;
    expect((await ask(connection, names)).data).toEqual([{ n: 1 }]);
  });
});
