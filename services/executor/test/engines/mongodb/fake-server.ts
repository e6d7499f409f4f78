/** Connections to a fake server that answers commands as a test says. */

import type { Socket } from 'node:net';
import { BSON, type Document } from 'mongodb';
import { afterEach } from 'vitest';
import { createMongodbEngine } from '../../../src/engines/mongodb/index.ts';
import type { ConnectDeps, ConnectSettings } from '../../../src/ports/engine.ts';
import { dial } from '../../fixture.ts';
import { type Rogue, startRogue } from '../../hostile/rogue.ts';
import { converse, type Replies, toReply } from '../../hostile/rogue-mongodb.ts';

const rogues: Rogue[] = [];
afterEach(() => {
  for (const rogue of rogues.splice(0)) rogue.close();
});

/** Opens a connection to a fake server, and returns the commands that the server received. */
export async function open(
  replies: Replies,
  change: Partial<ConnectSettings> = {},
  more: Partial<ConnectDeps> = {},
) {
  const commands: Document[] = [];
  const noted = Object.entries(replies).map(([name, reply]) => [
    name,
    (socket: Socket, command: Document, id: number) => {
      commands.push(command);
      if (typeof reply === 'function') reply(socket, command, id);
      else socket.write(toReply(BSON.serialize(reply), id));
    },
  ]);
  const rogue = await startRogue(converse(Object.fromEntries(noted)));
  rogues.push(rogue);
  const settings: ConnectSettings = {
    engine: 'mongodb',
    host: '127.0.0.1',
    port: rogue.port,
    database: 'shop',
    user: '',
    password: '',
    tls: { mode: 'prefer' },
    ...change,
  };
  const deps: ConnectDeps = { dial, signal: AbortSignal.timeout(60_000), facts: {}, ...more };
  const engine = createMongodbEngine();
  const another = () => engine.connect(settings, deps);
  return { connection: await another(), commands, another };
}
