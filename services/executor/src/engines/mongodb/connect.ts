/** Opens sessions: TLS, greeting and log-in (SCRAM-SHA-256); and the side connections that cancel. */

import type { Socket } from 'node:net';
import { HubError } from '@datahub/service-kit/call/error';
import { Binary, BSON, type Document } from 'bson';
import type { ConnectDeps, ConnectSettings } from '../../engine.ts';
import { startTls } from '../../network/tls.ts';
import { defaultRowBytesMax } from '../shared/bounds.ts';
import { createScram, scramMechanism } from '../shared/scram.ts';
import { MongodbConnection } from './connection.ts';
import { errorOf, logInError, toConnectError } from './errors.ts';
import { Wire } from './wire.ts';

/** OP_MSG came with this one, in 3.6; older servers say nothing that can be read here. */
const oldestWireVersion = 6;
const defaultAuthSource = 'admin';

export async function connectMongodb(
  settings: ConnectSettings,
  deps: ConnectDeps,
): Promise<MongodbConnection> {
  const { wire, secure } = await reach(settings, deps);
  try {
    const version = await asAnswered(wire, { buildInfo: 1, $db: 'admin' });
    wire.widen();
    // A session with TLS cancels with TLS, and one without has seen that there is none.
    const mode = secure ? settings.tls.mode : 'disable';
    const target = { ...settings, tls: { ...settings.tls, mode } };
    return new MongodbConnection({
      wire,
      database: settings.database,
      rowBytesMax: deps.rowBytesMax ?? defaultRowBytesMax,
      serverVersion: `MongoDB ${String(version.version).slice(0, 32)}`,
      cancel: (session, signal) => killSession(target, { ...deps, signal }, session),
    });
  } catch (err) {
    wire.close();
    throw toConnectError(deps.signal.aborted ? undefined : err);
  }
}

interface Reached {
  wire: Wire;
  secure: boolean;
}

/** A session that is logged in. MongoDB cannot be asked whether it has TLS: `prefer` tries, and goes on without. */
async function reach(settings: ConnectSettings, deps: ConnectDeps): Promise<Reached> {
  const { mode } = settings.tls;
  if (mode === 'disable') return { wire: await open(settings, deps, false), secure: false };
  try {
    return { wire: await open(settings, deps, true), secure: true };
  } catch (err) {
    const hasNone = err instanceof HubError && err.code === 'SOURCE_TLS';
    if (mode !== 'prefer' || !hasNone || deps.signal.aborted) throw err;
    return { wire: await open(settings, deps, false), secure: false };
  }
}

async function open(settings: ConnectSettings, deps: ConnectDeps, tls: boolean): Promise<Wire> {
  const { host, port } = settings;
  let socket: Socket = await deps.dial(host, port, deps.signal);
  const abort = () => socket.destroy();
  deps.signal.addEventListener('abort', abort, { once: true });
  try {
    if (tls) socket = await startTls(socket, settings);
    const wire = new Wire(socket);
    await greet(wire);
    if (settings.user !== '') await logIn(wire, settings);
    return wire;
  } catch (err) {
    socket.destroy();
    throw toConnectError(deps.signal.aborted ? undefined : err);
  } finally {
    deps.signal.removeEventListener('abort', abort);
  }
}

async function greet(wire: Wire): Promise<void> {
  const { maxWireVersion } = await asAnswered(wire, {
    hello: 1,
    client: { driver: { name: 'datahub', version: '1' }, os: { type: process.platform } },
    $db: 'admin',
  });
  if (Number(maxWireVersion) >= oldestWireVersion) return;
  throw new HubError('SOURCE_UNREACHABLE', 'The source is a MongoDB that is too old, or none.', {
    stage: 'connect',
    retryable: false,
  });
}

/** RFC 5802 in the messages of MongoDB. The server must prove that it knows the password, too. */
async function logIn(
  wire: Wire,
  { user, password, authSource = defaultAuthSource }: ConnectSettings,
): Promise<void> {
  const scram = createScram(password, user);
  const say = async (command: Document) => {
    const reply = BSON.deserialize(await wire.send({ ...command, $db: authSource }));
    const error = errorOf(reply);
    if (error !== undefined) throw logInError(new Error(`code ${error.code}`));
    return { id: reply.conversationId, payload: textOf(reply.payload), done: reply.done === true };
  };
  const first = await say({
    saslStart: 1,
    mechanism: scramMechanism,
    payload: bytesOf(scram.first),
    options: { skipEmptyExchange: true },
  });
  const proof = await scram.answer(first.payload);
  const second = await say({ saslContinue: 1, conversationId: first.id, payload: bytesOf(proof) });
  scram.verify(second.payload);
  if (!second.done) await say({ saslContinue: 1, conversationId: first.id, payload: bytesOf('') });
}

const bytesOf = (text: string) => new Binary(Buffer.from(text));
const textOf = (payload: unknown) =>
  payload instanceof Binary ? Buffer.from(payload.buffer).toString('utf8') : String(payload ?? '');

async function asAnswered(wire: Wire, command: Document): Promise<Document> {
  const reply = BSON.deserialize(await wire.send(command));
  const error = errorOf(reply);
  if (error !== undefined) throw toConnectError(new Error(`code ${error.code}`));
  return reply;
}

/** Ends what runs in a session. A server that does not know how ends it when its connection is cut, which comes next. */
async function killSession(settings: ConnectSettings, deps: ConnectDeps, session: Document): Promise<void> {
  const { wire } = await reach(settings, deps);
  try {
    await wire.send({ killSessions: [session], $db: 'admin' });
  } finally {
    wire.close();
  }
}
