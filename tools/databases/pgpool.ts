/** A temporary Pgpool-II in front of one PostgreSQL, in its streaming replication mode. */

import { chmod, chown, copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '@datahub/service-kit/process/free-port';
import { idOfUser } from './certificates.ts';
import type { PoolerOptions, StartedPooler } from './pgbouncer.ts';
import { findCommand, startServer } from './process.ts';

/** The path of the program; undefined if it is not installed. */
export const findPgpool = () => findCommand('pgpool');

export async function startPgpool(program: string, options: PoolerOptions): Promise<StartedPooler> {
  const user = await idOfUser('postgres');
  const dir = join(options.dir, 'pgpool');
  await mkdir(dir, { recursive: true });
  const path = (name: string) => join(dir, name);
  await copyFile(options.certificates.key, path('server.key'));
  await copyFile(options.certificates.cert, path('server.crt'));
  const server = new URL(options.postgresUrl);
  const [name, password] = [server.username, server.password].map(decodeURIComponent) as [string, string];
  await writeFile(path('pool_passwd'), `${name}:TEXT${password}\n`);
  await writeFile(path('pool_hba.conf'), 'host all all 127.0.0.1/32 scram-sha-256\n');
  await writeFile(path('pcp.conf'), '');
  const login = { user: name, password };
  await writeFile(
    path('pgpool.conf'),
    settingsOf(server, { port: options.port, pcpPort: await freePort(), dir, login }),
  );
  const files = ['server.key', 'server.crt', 'pool_passwd', 'pool_hba.conf', 'pcp.conf', 'pgpool.conf'];
  for (const file of ['server.key', 'pool_passwd', 'pgpool.conf']) await chmod(path(file), 0o600);
  if (user) for (const owned of [dir, ...files.map(path)]) await chown(owned, user.uid, user.gid);
  const started = await startServer({
    command: program,
    // Runs in the foreground, without the server state of an earlier run.
    args: ['-n', '-D', '-f', path('pgpool.conf'), '-F', path('pcp.conf'), '-a', path('pool_hba.conf')],
    port: options.port,
    timeoutMs: 30_000,
    ...(user ? { user } : {}),
  });
  const url = new URL(server);
  url.host = `127.0.0.1:${options.port}`;
  return { ...started, urls: { PGPOOL_URL: url.href } };
}

/**
 * The defaults, except for addresses, files, and the number of processes, which 240 callers on several sources need.
 */
function settingsOf(
  server: URL,
  {
    port,
    pcpPort,
    dir,
    login,
  }: { port: number; pcpPort: number; dir: string; login: { user: string; password: string } },
): string {
  const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;
  const settings: Record<string, string> = {
    listen_addresses: quoted('127.0.0.1'),
    port: String(port),
    unix_socket_directories: quoted(dir),
    socket_dir: quoted(dir),
    // This port for administrators cannot be turned off.
    pcp_port: String(pcpPort),
    pcp_socket_dir: quoted(dir),
    pid_file_name: quoted(join(dir, 'pid')),
    logdir: quoted(dir),
    backend_clustering_mode: quoted('streaming_replication'),
    backend_hostname0: quoted(server.hostname),
    backend_port0: server.port || '5432',
    backend_flag0: quoted('DISALLOW_TO_FAILOVER'),
    sr_check_user: quoted(login.user),
    sr_check_password: quoted(login.password),
    sr_check_database: quoted(server.pathname.slice(1)),
    enable_pool_hba: 'on',
    pool_passwd: quoted(join(dir, 'pool_passwd')),
    num_init_children: '64',
    ssl: 'on',
    ssl_key: quoted(join(dir, 'server.key')),
    ssl_cert: quoted(join(dir, 'server.crt')),
  };
  return Object.entries(settings)
    .map(([setting, value]) => `${setting} = ${value}\n`)
    .join('');
}
