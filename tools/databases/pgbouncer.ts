/**
 * A temporary PgBouncer in front of a PostgreSQL: a database for each way of pooling.
 */

import { chmod, chown, copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Certificates, idOfUser } from './certificates.ts';
import { findCommand, type Server, startServer } from './process.ts';

export interface StartedPooler extends Server {
  /** URLs by the name of the variable in which the tests read them. */
  urls: Record<string, string>;
}

export interface PoolerOptions {
  dir: string;
  port: number;
  certificates: Certificates;
  /** The URL of the server behind the pooler. */
  postgresUrl: string;
}

/** The path of the program, else undefined. */
export const findPgbouncer = () => findCommand('pgbouncer');

export async function startPgbouncer(program: string, options: PoolerOptions): Promise<StartedPooler> {
  // PgBouncer refuses to run as root.
  const user = (await idOfUser('postgres')) ?? (await idOfUser('nobody'));
  const dir = join(options.dir, 'pgbouncer');
  await mkdir(dir, { recursive: true });
  const path = (name: string) => join(dir, name);
  await copyFile(options.certificates.key, path('server.key'));
  await copyFile(options.certificates.cert, path('server.crt'));
  const server = new URL(options.postgresUrl);
  const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
  const [name, password] = [server.username, server.password].map(decodeURIComponent) as [string, string];
  await writeFile(path('users.txt'), `${quoted(name)} ${quoted(password)}\n`);
  await writeFile(path('pgbouncer.ini'), settingsOf(server, { port: options.port, path }));
  for (const file of ['server.key', 'users.txt']) await chmod(path(file), 0o600);
  const files = ['server.key', 'server.crt', 'users.txt', 'pgbouncer.ini'].map(path);
  if (user) for (const owned of [dir, ...files]) await chown(owned, user.uid, user.gid);
  const started = await startServer({
    command: program,
    args: [path('pgbouncer.ini')],
    port: options.port,
    timeoutMs: 30_000,
    // The only signal that stops every version immediately, even with clients connected.
    stopSignal: 'SIGQUIT',
    ...(user ? { user } : {}),
  });
  const urlOf = (database: string) =>
    `postgres://${server.username}:${server.password}@127.0.0.1:${options.port}/${database}`;
  return {
    ...started,
    urls: {
      PGBOUNCER_URL: urlOf('session'),
      PGBOUNCER_TRANSACTION_URL: urlOf('transaction'),
      PGBOUNCER_STATEMENT_URL: urlOf('statement'),
    },
  };
}

/** The defaults, except for addresses and paths, and room for the sessions of several test files at the same time. */
function settingsOf(server: URL, { port, path }: { port: number; path: (name: string) => string }): string {
  const target = `host=${server.hostname} port=${server.port || 5432} dbname=${server.pathname.slice(1)}`;
  return [
    '[databases]',
    `session = ${target} pool_mode=session`,
    `transaction = ${target} pool_mode=transaction`,
    `statement = ${target} pool_mode=statement`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'default_pool_size = 100',
    'max_client_conn = 400',
    'unix_socket_dir =',
    'auth_type = scram-sha-256',
    `auth_file = ${path('users.txt')}`,
    // Asks the server for the others. Each has a pool of its own.
    `auth_user = ${decodeURIComponent(server.username)}`,
    // This user may query the version.
    `stats_users = ${decodeURIComponent(server.username)}`,
    'client_tls_sslmode = allow',
    `client_tls_key_file = ${path('server.key')}`,
    `client_tls_cert_file = ${path('server.crt')}`,
    '',
  ].join('\n');
}
