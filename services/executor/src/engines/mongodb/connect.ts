/** Opens connections. Each is a session of the source's client and takes one place of its pool. */

import { type ClientSession, ReadPreference } from 'mongodb';
import type { ConnectDeps, ConnectSettings, Engine } from '../../ports/engine.ts';
import { defaultRowBytesMax } from '../shared/bounds.ts';
import { Clients } from './clients.ts';
import { MongodbConnection } from './connection.ts';
import { toLogInError } from './errors.ts';
import { LongReply } from './long-reply.ts';

export function openMongodb(): { connect: Engine['connect']; owns: NonNullable<Engine['owns']> } {
  const clients = new Clients();
  return {
    connect: (settings, deps) => connect(settings, deps, clients),
    owns: (address, port) => clients.proxy.owns(address, port),
  };
}

async function connect(
  settings: ConnectSettings,
  deps: ConnectDeps,
  clients: Clients,
): Promise<MongodbConnection> {
  const lease = await clients.lease(settings, deps);
  const readPreference = ReadPreference.fromString(settings.readPreference ?? 'primary');
  const { client } = lease.source;
  let session: ClientSession | undefined;
  try {
    session = client.startSession({ causalConsistency: false });
    // Without a user some servers accept the log-in and reject only the first command on data.
    const proof =
      settings.user === '' ? { listCollections: 1, nameOnly: true, filter: { name: '' } } : { ping: 1 };
    await client.db(settings.database).command(proof, {
      session,
      signal: deps.signal,
      readPreference,
    });
    return new MongodbConnection({
      lease,
      session,
      database: settings.database,
      readPreference,
      hasUser: settings.user !== '' || settings.authMechanism !== undefined,
      comments: deps.comments ?? false,
      rowBytesMax: deps.rowBytesMax ?? defaultRowBytesMax,
      longReply: new LongReply(deps.takeReplyRoom),
    });
  } catch (err) {
    void session?.endSession().catch(() => {});
    lease.release();
    throw toLogInError(deps.signal.aborted ? deps.signal.reason : err, settings);
  }
}
