import { afterEach, expect, test, vi } from 'vitest';
import { createMysqlEngine } from '../../../src/engines/mysql/index.ts';
import { dial, settingsOf } from '../../fixture.ts';
import { type Rogue, startRogue } from '../../hostile/rogue.ts';
import { ok, perform } from '../../hostile/rogue-mysql.ts';

let server: Rogue;
afterEach(() => server.close());

test('a log-in whose packets are out of order fails, and nothing is printed', async () => {
  const printed = vi.spyOn(console, 'error').mockImplementation(() => {});
  server = await startRogue(perform({ logIn: (socket) => socket.write(ok(7)) }));
  const settings = settingsOf('mysql', `mysql://u:p@127.0.0.1:${server.port}/d`);
  const connecting = createMysqlEngine().connect(settings, { dial, signal: AbortSignal.timeout(60_000) });
  await expect(connecting).rejects.toMatchObject({ code: 'SOURCE_UNREACHABLE' });
  expect(printed).not.toHaveBeenCalled();
  printed.mockRestore();
});
