/** An executor that was paused for longer than its lease sends nothing more over the connections it had. */

import type { EngineName } from '@datahub/contract/engines';
import { describe, expect, it } from 'vitest';
import { createEngines } from '../../src/engines/index.ts';
import type { Connection } from '../../src/ports/engine.ts';
import { ask, dial, settingsOf } from '../fixture.ts';

const servers: [EngineName, string | undefined][] = [
  ['postgres', process.env.POSTGRES_URL],
  ['mariadb', process.env.MARIADB_URL],
  ['mysql', process.env.MYSQL_URL],
];

describe.each(servers)('a connection to %s', (name, url) => {
  describe.skipIf(url === undefined)('(needs its URL in the environment)', () => {
    it.each([
      ['between two statements', 0],
      ['between two steps of a statement', 1],
    ])('sends nothing once the lease has ended %s', async (_place, steps) => {
      let left = Infinity;
      let connection: Connection | undefined;
      const isAwake = () => {
        if (left-- > 0) return true;
        connection?.close();
        return false;
      };
      const deps = { dial, signal: AbortSignal.timeout(60_000), isAwake };
      connection = (await createEngines()[name].connect(settingsOf(name, url as string), deps)) as Connection;
      expect((await ask(connection, 'SELECT 1 AS n')).data).toEqual([{ n: 1 }]);
      left = steps;
      // A statement that is new to the connection is prepared before it runs.
      await expect(ask(connection, 'SELECT 2 AS n')).rejects.toMatchObject({ code: 'SOURCE_BROKEN' });
      expect(left).toBe(-1);
    });
  });
});
