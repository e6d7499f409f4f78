import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { ok, Wire } from '../../../src/engines/mysql/wire.ts';
import { NeverAnswered } from '../../../src/ports/engine.ts';

it('says that the server answered nothing to what is sent on a closed connection', async () => {
  const wire = new Wire(new PassThrough(), {});
  wire.close();
  await expect(wire.expect(ok)).rejects.toBeInstanceOf(NeverAnswered);
});

it('waits for a server that has said that it closes the connection, but not for one that does not', async () => {
  const socket = new PassThrough();
  const wire = new Wire(socket, {});
  expect(await wire.closes()).toBe(false);
  const closes = wire.closes();
  socket.end();
  expect(await closes).toBe(true);
});
