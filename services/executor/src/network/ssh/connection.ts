/** An SSH connection to a bastion: log-in, checks, and the channels to servers behind it. */

import type { Socket } from 'node:net';
import { onAbort } from '@datahub/service-kit/call/abort';
import { HubError } from '@datahub/service-kit/call/error';
import type { Client, ClientChannel, ConnectConfig } from 'ssh2';
import type { SshSettings } from '../../ports/engine.ts';
import type { Dial } from '../dialer.ts';
import { isUsableSshKey } from '../handshake/openssh-key.ts';
import { ChannelStream } from './channel-stream.ts';
import {
  bastionUnreachable,
  forwardingRefused,
  hostKeyDiffers,
  keyUnreadable,
  logInRefused,
  noCommonAlgorithm,
  targetUnreachable,
} from './errors.ts';
import { algorithmsFor, expectedKey, fingerprintOf, matches } from './host-key.ts';
import { PacedSocket } from './paced-socket.ts';

/** A bastion that does not answer is noticed after 10 to 15 s. */
const keepAlive = { keepaliveInterval: 5_000, keepaliveCountMax: 2 };

/**
 * Key exchanges that cost little: the parameters of others are chosen by the server, and large ones would block the
 * process. Ciphers of `node:crypto` that need no separate MAC come first.
 */
const algorithms: NonNullable<ConnectConfig['algorithms']> = {
  kex: [
    'curve25519-sha256',
    'curve25519-sha256@libssh.org',
    'ecdh-sha2-nistp256',
    'ecdh-sha2-nistp384',
    'ecdh-sha2-nistp521',
    'diffie-hellman-group14-sha256',
  ],
  cipher: ['aes128-gcm@openssh.com', 'aes256-gcm@openssh.com', 'aes128-ctr', 'aes192-ctr', 'aes256-ctr'],
  hmac: ['hmac-sha2-256-etm@openssh.com', 'hmac-sha2-512-etm@openssh.com', 'hmac-sha2-256', 'hmac-sha2-512'],
  compress: ['none'],
};

/** The library grants a window of 2 MiB. A bastion that sends more ignores it. */
const unreadBytesMax = 3 * 1024 * 1024;
/** A bastion that makes the hub answer and reads nothing would fill the memory. */
const unsentBytesMax = 16 * 1024 * 1024;
/**
 * The connection ends if less than a sixteenth of so many bytes, which arrive within a minute, is data of databases. A
 * packet with one byte of data has at least 36 bytes.
 */
const emptyBytesMax = 1024 * 1024;
const emptyMs = 60_000;

const administrativelyProhibited = 1;
const connectFailed = 2;

/** Connects to the bastion and logs in. Rejects with a HubError. */
export async function connectToBastion(
  ssh: SshSettings,
  { dial, signal }: { dial: Dial; signal: AbortSignal },
): Promise<BastionConnection> {
  const socket = await dial(ssh.host, ssh.port, { signal }).catch((err) => {
    const isMapped = err instanceof HubError && err.code !== 'SOURCE_UNREACHABLE';
    throw isMapped ? err : bastionUnreachable(err instanceof HubError ? err.cause : err);
  });
  return await logInAtBastion(socket, ssh, signal);
}

/** Logs in over a connected socket. Rejects with a HubError, after destroying the socket. */
export async function logInAtBastion(
  socket: Socket,
  settings: SshSettings,
  signal: AbortSignal,
): Promise<BastionConnection> {
  if (settings.privateKey !== undefined && !isUsableSshKey(settings.privateKey)) {
    socket.destroy();
    throw keyUnreadable(new RangeError('The key is of another kind, or too large.'));
  }
  // Loaded with the first bastion.
  const { default: ssh } = await import('ssh2');
  const expected = expectedKey(settings.hostKey);
  const client = new ssh.Client();
  const paced = new PacedSocket(socket);
  let seen: string | undefined;
  let differs = false;
  const config: ConnectConfig = {
    ...keepAlive,
    sock: paced,
    username: settings.user,
    ...(settings.privateKey === undefined
      ? { password: settings.password ?? '' }
      : { privateKey: settings.privateKey }),
    algorithms: { ...algorithms, serverHostKey: algorithmsFor(expected) },
    hostVerifier: (key: Buffer) => {
      differs = !matches(key, expected);
      seen = fingerprintOf(key);
      return !differs;
    },
    // The caller's signal ends the attempt.
    readyTimeout: 0,
  };
  return await new Promise((resolve, reject) => {
    const fail = (err: unknown) => {
      socket.destroy();
      reject(err);
    };
    if (signal.aborted) return fail(bastionUnreachable(signal.reason));
    const listening = onAbort(signal, () => fail(bastionUnreachable(signal.reason)));
    client.on('error', (err) => fail(differs ? hostKeyDiffers(seen) : toConnectError(err)));
    client.once('close', () => {
      listening[Symbol.dispose]();
      fail(bastionUnreachable(undefined));
    });
    client.once('ready', () => {
      listening[Symbol.dispose]();
      resolve(new BastionConnection(client, { socket, paced }));
    });
    try {
      client.connect(config);
    } catch (err) {
      fail(keyUnreadable(err));
    }
  });
}

function toConnectError(err: Error & { level?: string }) {
  if (err.level === 'client-authentication') return logInRefused(err);
  if (err.level === 'handshake' && err.message.includes('host key format')) return hostKeyDiffers(undefined);
  if (err.level === 'handshake' && err.message.includes('no matching')) return noCommonAlgorithm(err);
  return bastionUnreachable(err);
}

export class BastionConnection {
  /** The address that was reached. */
  readonly address: string;
  closed = false;
  readonly #client: Client;
  readonly #socket: Socket;
  readonly #paced: PacedSocket;
  readonly #streams = new Set<ChannelStream>();
  /** The bytes that have arrived since then, and how many bytes of channels had arrived before. */
  #received = { bytes: 0, dataBefore: 0, since: performance.now() };
  /** Of all channels. */
  #dataBytes = 0;

  constructor(client: Client, { socket, paced }: { socket: Socket; paced: PacedSocket }) {
    this.#client = client;
    this.#socket = socket;
    this.#paced = paced;
    this.address = socket.remoteAddress ?? '';
    // Before the library ends its channels: whoever opens another one then must get a new connection.
    for (const event of ['end', 'error', 'close']) socket.prependListener(event, () => this.close());
    // The library has read the same bytes before.
    paced.on('data', ({ length }: Buffer) => this.#checkBounds(length));
  }

  /** Opens a connection from the bastion to a server. Rejects with SOURCE_UNREACHABLE. */
  forward(host: string, port: number, signal: AbortSignal): Promise<ChannelStream> {
    return new Promise((resolve, reject) => {
      if (signal.aborted || this.closed) return reject(targetUnreachable(signal.reason));
      const listening = onAbort(signal, () => reject(targetUnreachable(signal.reason)));
      const answered = (err: (Error & { reason?: unknown }) | undefined, channel: ClientChannel) => {
        listening[Symbol.dispose]();
        if (err !== undefined) return reject(toForwardError(err));
        const stream = this.#use(channel);
        if (signal.aborted) stream.destroy();
        else resolve(stream);
      };
      try {
        this.#client.forwardOut('127.0.0.1', 0, host, port, answered);
      } catch (err) {
        listening[Symbol.dispose]();
        reject(targetUnreachable(err));
      }
    });
  }

  /** Closes all connections through the bastion. Idempotent. */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.#socket.destroy();
    for (const stream of this.#streams) stream.destroy();
  }

  #use(channel: ClientChannel): ChannelStream {
    const onBytes = (bytes: number) => {
      this.#dataBytes += bytes;
    };
    const { accountId } = this.#paced;
    const stream = new ChannelStream(channel, { accountId, onBytes });
    this.#streams.add(stream);
    stream.once('close', () => this.#streams.delete(stream));
    return stream;
  }

  #checkBounds(bytes: number): void {
    const isBeyond = this.#paced.unsentBytes > unsentBytesMax;
    const isFlooded = () => [...this.#streams].some(({ unreadBytes }) => unreadBytes > unreadBytesMax);
    if (isBeyond || this.#isEmpty(bytes) || isFlooded()) this.close();
  }

  #isEmpty(bytes: number): boolean {
    const received = this.#received;
    received.bytes += bytes;
    if (received.bytes < emptyBytesMax) return false;
    const dataBefore = this.#dataBytes;
    this.#received = { bytes: 0, dataBefore, since: performance.now() };
    const { since } = this.#received;
    return dataBefore - received.dataBefore < emptyBytesMax / 16 && since - received.since < emptyMs;
  }
}

function toForwardError(err: Error & { reason?: unknown }) {
  if (err.reason === connectFailed || err.reason === undefined) return targetUnreachable(err);
  return forwardingRefused(err, err.reason !== administrativelyProhibited);
}
