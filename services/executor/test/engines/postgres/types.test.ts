import { expect, it, onTestFinished } from 'vitest';
import { createPostgresEngine } from '../../../src/engines/postgres/index.ts';
import { ask, dial, settingsOf } from '../../fixture.ts';
import { startRogue } from '../../hostile/rogue.ts';
import { typed } from '../../hostile/rogue-postgres.ts';

it.each([
  [10, false],
  [1_600, true],
])('a connection that has learned %i types of the server is replaced: %s', async (count, isReplaced) => {
  const server = await startRogue(typed(count));
  onTestFinished(() => server.close());
  const settings = settingsOf('postgres', `x://u:p@127.0.0.1:${server.port}/d`);
  const deps = { dial, signal: AbortSignal.timeout(30_000) };
  const connection = await createPostgresEngine().connect(settings, deps);
  const { data } = await ask(connection, 'SELECT hostile');
  expect([data, connection.broken]).toEqual([[], isReplaced]);
  connection.close();
});
