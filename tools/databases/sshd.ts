/** OpenSSH's server as a bastion, and a relay in front of it that counts and cuts its connections. */

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@datahub/service-kit/process/free-port';
import { findCommand, startServer } from './process.ts';

/** The path of the program; undefined if OpenSSH's server is not installed. */
export const findSshd = () => findCommand('sshd');

export interface Bastion {
  /** Of the server itself. */
  port: number;
  user: string;
  /** The line of the public key, and its fingerprint. */
  hostKey: string;
  fingerprint: string;
  /** The key of a user who may log in, and one that the server does not know. */
  privateKey: string;
  strangerKey: string;
  stop(): Promise<void>;
}

/** Starts the server as the current user, with keys of its own. `settings` are lines of its configuration. */
export async function startSshd(program: string, settings: readonly string[] = []): Promise<Bastion> {
  const dir = await mkdtemp(join(tmpdir(), 'datahub-sshd-'));
  const path = (name: string) => join(dir, name);
  for (const name of ['host', 'user', 'stranger'])
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', path(name)]);
  const read = async (name: string) => (await readFile(path(name), 'utf8')).trim();
  await writeFile(path('authorized_keys'), await readFile(path('user.pub')));
  const port = await freePort();
  const config = [
    `Port ${port}`,
    'ListenAddress 127.0.0.1',
    `HostKey ${path('host')}`,
    `AuthorizedKeysFile ${path('authorized_keys')}`,
    'StrictModes no',
    'UsePAM no',
    'PidFile none',
    'PasswordAuthentication no',
    'PermitRootLogin prohibit-password',
    ...settings,
  ];
  await writeFile(path('sshd_config'), `${config.join('\n')}\n`);
  // As root, the server needs this directory, which Debian creates when the service starts.
  if (process.getuid?.() === 0) await mkdir('/run/sshd', { recursive: true, mode: 0o755 });
  const server = await startServer({
    command: program,
    args: ['-D', '-e', '-f', path('sshd_config')],
    port,
    timeoutMs: 30_000,
    stopSignal: 'SIGTERM',
  });
  const listed = execFileSync('ssh-keygen', ['-l', '-f', path('host.pub')]).toString();
  return {
    port,
    user: userInfo().username,
    hostKey: await read('host.pub'),
    fingerprint: listed.split(' ')[1] as string,
    privateKey: await read('user'),
    strangerKey: await read('stranger'),
    stop: async () => {
      await server.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

export interface Relay {
  port: number;
  /** The connections since the start. */
  readonly accepted: number;
  /** Those that are open. */
  readonly open: number;
  /** Cuts those that are open. */
  cut(): void;
  close(): Promise<void>;
}

/** Passes connections on to a port of this machine. */
export async function startRelay(target: number): Promise<Relay> {
  const sockets = new Set<Socket>();
  let accepted = 0;
  const server = createServer((inner) => {
    accepted++;
    const outer = connect({ host: '127.0.0.1', port: target });
    for (const [one, other] of [
      [inner, outer],
      [outer, inner],
    ] as const) {
      one.on('error', () => {}).once('close', () => other.destroy());
      one.pipe(other);
    }
    sockets.add(inner);
    inner.once('close', () => sockets.delete(inner));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    get accepted() {
      return accepted;
    },
    get open() {
      return sockets.size;
    },
    cut: () => {
      for (const socket of sockets) socket.destroy();
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
