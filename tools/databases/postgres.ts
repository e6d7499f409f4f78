/** A temporary PostgreSQL with TLS and a password, without fsync. */

import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, chown, copyFile, mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { type Certificates, idOfUser } from './certificates.ts';
import { findCommand, run, type Server, startServer } from './process.ts';

export interface StartedDatabase extends Server {
  url: string;
  /** The path of the CA of its TLS certificate; absent without TLS. */
  ca?: string;
}

/** Returns the directory of the newest server binaries; undefined if there are none. */
export async function findPostgres(): Promise<string | undefined> {
  const versions = await readdir('/usr/lib/postgresql').catch(() => []);
  const [newest] = versions.filter((name) => /^\d+$/.test(name)).sort((a, b) => Number(b) - Number(a));
  if (newest !== undefined) return `/usr/lib/postgresql/${newest}/bin`;
  const initdb = findCommand('initdb');
  return initdb === undefined || findCommand('postgres') === undefined ? undefined : dirname(initdb);
}

export async function startPostgres(
  bin: string,
  options: { dir: string; port: number; certificates: Certificates },
): Promise<StartedDatabase> {
  const user = await idOfUser('postgres');
  const dir = join(options.dir, 'postgres');
  const password = randomBytes(12).toString('hex');
  await mkdir(dir, { recursive: true });
  const passwordFile = join(dir, 'password');
  await writeFile(passwordFile, password);
  const [key, cert] = [join(dir, 'server.key'), join(dir, 'server.crt')];
  await copyFile(options.certificates.key, key);
  await copyFile(options.certificates.cert, cert);
  await chmod(key, 0o600);
  if (user) for (const path of [dir, passwordFile, key, cert]) await chown(path, user.uid, user.gid);

  const data = join(dir, 'data');
  const initArgs = ['-D', data, '-U', 'postgres', '--auth=scram-sha-256', `--pwfile=${passwordFile}`];
  await run(join(bin, 'initdb'), [...initArgs, '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync'], {
    ...user,
    cwd: dir,
  });
  // The test of the statements' comments reads it.
  const libraries = ['../lib', '../lib/postgresql'].map((dir) => join(bin, dir, 'pg_stat_statements.so'));
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '300',
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    shared_buffers: '128MB',
    ...(libraries.some(existsSync) ? { shared_preload_libraries: 'pg_stat_statements' } : {}),
    ssl: 'on',
    ssl_cert_file: cert,
    ssl_key_file: key,
    ssl_ca_file: options.certificates.ca,
  };
  const server = await startServer({
    command: join(bin, 'postgres'),
    args: [
      '-D',
      data,
      '-p',
      String(options.port),
      ...Object.entries(settings).flatMap(([k, v]) => ['-c', `${k}=${v}`]),
    ],
    port: options.port,
    timeoutMs: 30_000,
    ...(user ? { user } : {}),
  });
  const url = `postgres://postgres:${password}@127.0.0.1:${options.port}/postgres`;
  await untilStarted(url).catch(async (err) => {
    await server.stop();
    throw err;
  });
  return { ...server, url, ca: options.certificates.ca };
}

const startingUp = '57P03';

/** The port accepts connections a moment before the server is ready. */
async function untilStarted(url: string): Promise<void> {
  const deadline = Date.now() + 30_000;
  for (;;) {
    const client = new pg.Client({ connectionString: url });
    try {
      await client.connect();
      return await client.end();
    } catch (err) {
      if ((err as { code?: string }).code !== startingUp || Date.now() > deadline) throw err;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
