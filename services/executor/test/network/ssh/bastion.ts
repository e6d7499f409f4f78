/** A bastion made of the library's own server, for what OpenSSH does not do. */

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import ssh, { type Connection, type ServerChannel } from 'ssh2';

export interface TestBastion {
  port: number;
  fingerprint: string;
  /** The connections since the start. */
  readonly accepted: number;
  /** The sockets of those that are open. */
  readonly sockets: ReadonlySet<Socket>;
  close(): Promise<void>;
}

export interface BastionOptions {
  password: string;
  /** By default, the channel is connected to the port of this machine that it names. */
  onChannel?(channel: ServerChannel): void;
}

/** ssh2 drops a zero at the beginning of a key that it makes, one of three hundred, and cannot read it then. */
function createHostKey() {
  for (;;) {
    const host = ssh.utils.generateKeyPairSync('ed25519');
    try {
      const parsed = ssh.utils.parseKey(host.public);
      if (!(parsed instanceof Error)) return { host, parsed };
    } catch {}
  }
}

export async function startBastion({ password, onChannel }: BastionOptions): Promise<TestBastion> {
  const { host, parsed } = createHostKey();
  const digest = createHash('sha256').update(parsed.getPublicSSH()).digest('base64');
  const sockets = new Set<Socket>();
  let accepted = 0;
  const serve = (client: Connection) => {
    client.on('error', () => {});
    client.on('authentication', (ctx) => {
      if (ctx.method === 'password' && ctx.password === password) ctx.accept();
      else ctx.reject(['password']);
    });
    client.on('tcpip', (accept, reject, { destPort }) => {
      if (onChannel !== undefined) return onChannel(accept());
      const target = connect(destPort, '127.0.0.1');
      target.once('error', () => reject());
      target.once('connect', () => {
        const channel = accept();
        channel.pipe(target).pipe(channel);
        channel.once('close', () => target.destroy());
      });
    });
  };
  const server = new ssh.Server({ hostKeys: [host.private] }, serve);
  // The library accepts the socket with its own listener.
  (
    server as unknown as { _srv: { on(name: 'connection', listener: (socket: Socket) => void): void } }
  )._srv.on('connection', (socket) => {
    accepted++;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    fingerprint: `SHA256:${digest.replace(/=+$/, '')}`,
    get accepted() {
      return accepted;
    },
    sockets,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
