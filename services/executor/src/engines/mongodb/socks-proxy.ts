/**
 * A SOCKS5 proxy on loopback (RFC 1928, with passwords of RFC 1929). MongoDB's driver makes all its connections through
 * it, to configured hosts and to members that a server named. For each connection the proxy calls the client's `reach`,
 * which resolves the name once, checks the address, connects to it and starts TLS. The driver sends plain text to the
 * proxy, and the proxy checks each message before it forwards it.
 */

import { randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, isIP, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { deriveInTurn } from '../shared/key-derivation.ts';
import { type PassReply, Replies, Requests } from './frames.ts';

/** What the proxy needs for one client of the driver. */
export interface ProxyClient {
  /** Opens a connection to the server. Must settle when the signal aborts. */
  reach(host: string, port: number, signal: AbortSignal): Promise<Duplex>;
  /** Resolves when a long reply to this session, by its id in hexadecimal, may be read; undefined if it may at once. */
  beforeLong(session: string | undefined, bytes: number): Promise<void> | undefined;
  /** Receives the reason why a connection could not be opened or was closed. */
  onFault(err: unknown): void;
}

export interface ProxyCredentials {
  host: string;
  port: number;
  username: string;
  password: string;
  /** Closes all connections of the client. The proxy closes with its last client. Idempotent. */
  leave(): void;
}

export interface ProxySettings {
  /** The time limit of the SOCKS greeting, and again of `reach`. */
  timeoutMs: number;
  /** The most connections of one client. */
  socketsMax: number;
}

export const defaultProxySettings: ProxySettings = { timeoutMs: 5_000, socketsMax: 256 };

interface Registration {
  client: ProxyClient;
  password: string;
  sockets: Set<Socket>;
}

const loopback = '127.0.0.1';
const socks = 5;
const byPassword = 2;
const granted = Buffer.from([socks, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
const refused = Buffer.from([socks, 5, 0, 1, 0, 0, 0, 0, 0, 0]);

export class SocksProxy {
  readonly #settings: ProxySettings;
  readonly #registrations = new Map<string, Registration>();
  #server: Server | undefined;
  #listening: Promise<unknown> | undefined;

  constructor(settings: ProxySettings = defaultProxySettings) {
    this.#settings = settings;
  }

  /** True for the address of the proxy itself, which no source may use. */
  owns(address: string, port: number): boolean {
    const own = this.#server?.address() as AddressInfo | null | undefined;
    return own?.port === port && address.startsWith('127.');
  }

  async admit(client: ProxyClient): Promise<ProxyCredentials> {
    const username = randomBytes(16).toString('hex');
    const registration: Registration = {
      client,
      password: randomBytes(32).toString('hex'),
      sockets: new Set(),
    };
    this.#registrations.set(username, registration);
    const leave = () => this.#leave(username);
    try {
      const { port } = await this.#open();
      return { host: loopback, port, username, password: registration.password, leave };
    } catch (err) {
      leave();
      throw err;
    }
  }

  async #open(): Promise<AddressInfo> {
    if (this.#server === undefined) {
      this.#server = createServer((socket) => void this.#serve(socket));
      this.#server.unref();
      // Without `exclusive`, all workers of a cluster would share one port, and refuse each other's clients.
      const options = { port: 0, host: loopback, exclusive: true };
      this.#listening = once(this.#server.listen(options), 'listening');
    }
    const server = this.#server;
    await this.#listening;
    return server.address() as AddressInfo;
  }

  #leave(username: string): void {
    const registration = this.#registrations.get(username);
    this.#registrations.delete(username);
    for (const socket of registration?.sockets ?? []) socket.destroy();
    if (this.#registrations.size > 0) return;
    this.#server?.close();
    this.#server = undefined;
  }

  async #serve(driver: Socket): Promise<void> {
    const gone = new AbortController();
    driver.on('error', () => {}).once('close', () => gone.abort());
    driver.setNoDelay(true);
    const bound = () => AbortSignal.any([gone.signal, AbortSignal.timeout(this.#settings.timeoutMs)]);
    let client: ProxyClient | undefined;
    try {
      const greeting = bound();
      const registration = await this.#welcome(driver, greeting);
      client = registration.client;
      const { host, port } = await readTarget(driver, greeting);
      if (registration.sockets.size > this.#settings.socketsMax)
        throw new RangeError('Too many connections.');
      const server = await client.reach(host, port, bound());
      if (driver.destroyed) return void server.destroy();
      driver.write(granted);
      relay(driver, server, client);
    } catch (err) {
      if (!gone.signal.aborted) client?.onFault(err);
      driver.end(client === undefined ? '' : refused, () => driver.destroy());
    }
  }

  /**
   * Negotiates the method and checks the password. After a wrong one, answers as RFC 1929 requires and closes the
   * connection.
   */
  async #welcome(driver: Socket, signal: AbortSignal): Promise<Registration> {
    const [version, methods = 0] = await read(driver, 2, signal);
    const offered = await read(driver, methods, signal);
    if (version !== socks || !offered.includes(byPassword))
      throw new Error('The client does not offer authentication by password.');
    driver.write(Buffer.from([socks, byPassword]));
    const [, nameBytes = 0] = await read(driver, 2, signal);
    const name = await read(driver, nameBytes, signal);
    const [passwordBytes = 0] = await read(driver, 1, signal);
    const password = await read(driver, passwordBytes, signal);
    const registration = this.#registrations.get(name.toString('latin1'));
    const known = Buffer.from(registration?.password ?? '');
    if (registration === undefined || known.length !== password.length || !timingSafeEqual(known, password)) {
      driver.write(Buffer.from([1, 1]));
      throw new Error('The user name or password is unknown.');
    }
    registration.sockets.add(driver);
    driver.once('close', () => registration.sockets.delete(driver));
    driver.write(Buffer.from([1, 0]));
    return registration;
  }
}

const addressBytes: Record<number, number> = { 1: 4, 4: 16 };

async function readTarget(driver: Socket, signal: AbortSignal): Promise<{ host: string; port: number }> {
  const [version, command, , kind = 0] = await read(driver, 4, signal);
  if (version !== socks || command !== 1) throw new Error('Only the command CONNECT is supported.');
  const known = addressBytes[kind];
  const [nameBytes = 0] = known === undefined ? await read(driver, 1, signal) : [known];
  const name = await read(driver, nameBytes, signal);
  const port = (await read(driver, 2, signal)).readUInt16BE(0);
  if (known === 4) return { host: name.join('.'), port };
  if (known === undefined) return { host: name.toString('utf8'), port };
  const host = Array.from({ length: 8 }, (_, i) => name.readUInt16BE(2 * i).toString(16)).join(':');
  return { host: isIP(host) === 6 ? host : '', port };
}

/** Reads exactly this number of bytes. */
async function read(socket: Socket, bytes: number, signal: AbortSignal): Promise<Buffer> {
  if (bytes === 0) return Buffer.alloc(0);
  for (;;) {
    signal.throwIfAborted();
    const found: Buffer | null = socket.read(bytes);
    if (found?.length === bytes) return found;
    if (found !== null || socket.readableEnded) throw new Error('The greeting is incomplete.');
    await once(socket, 'readable', { signal });
  }
}

/** Relays data in both directions with backpressure. If one side closes, both are closed. */
function relay(driver: Socket, server: Duplex, client: ProxyClient): void {
  const requests = new Requests();
  let isWaiting = false;
  const readOn = () => {
    if (!isWaiting && !driver.writableNeedDrain) server.resume();
  };
  const onLong = (bytes: number) => {
    const room = client.beforeLong(requests.session, bytes);
    if (room === undefined) return;
    isWaiting = true;
    server.pause();
    void room.then(() => {
      isWaiting = false;
      readOn();
    });
  };
  const pass = (bytes: Buffer) => {
    if (!driver.write(bytes)) server.pause();
  };
  const passReply: PassReply = (bytes, rounds) => {
    if (rounds === undefined) return pass(bytes);
    // The server sends nothing more before the driver has derived its keys and answered.
    void deriveInTurn(rounds, async () => {
      if (driver.destroyed) return;
      pass(bytes);
      await new Promise<void>((resolve) => {
        driver.once('data', () => resolve()).once('close', resolve);
      });
    });
  };
  const replies = new Replies(requests, passReply, onLong);
  const end = () => {
    driver.destroy();
    server.destroy();
  };
  driver.once('close', end);
  server.once('close', end).on('error', () => {});
  server.once('end', end);
  driver.on('drain', readOn);
  server.on('drain', () => driver.resume());
  driver.on('data', (bytes: Buffer) => {
    requests.note(bytes);
    if (!server.write(bytes)) driver.pause();
  });
  server.on('data', (bytes: Buffer) => {
    try {
      replies.take(bytes);
    } catch (err) {
      client.onFault(err);
      end();
    }
  });
  driver.resume();
  server.resume();
}
