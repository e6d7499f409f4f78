/** A temporary MariaDB with TLS and a user with a password, without fsync. */

import { randomBytes } from 'node:crypto';
import { chown, copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Certificates, idOfUser } from './certificates.ts';
import type { StartedDatabase } from './postgres.ts';
import { findCommand, run, startServer } from './process.ts';

export function findMariadb(): { server: string; install: string } | undefined {
  const [server, install] = [findCommand('mariadbd'), findCommand('mariadb-install-db')];
  return server === undefined || install === undefined ? undefined : { server, install };
}

export async function startMariadb(
  commands: { server: string; install: string },
  options: { dir: string; port: number; certificates: Certificates },
): Promise<StartedDatabase> {
  const user = await idOfUser('mysql');
  const dir = join(options.dir, 'mariadb');
  const password = randomBytes(12).toString('hex');
  await mkdir(dir, { recursive: true });
  const init = join(dir, 'init.sql');
  await writeFile(
    init,
    [
      `CREATE USER 'tester'@'%' IDENTIFIED BY '${password}';`,
      "GRANT ALL ON *.* TO 'tester'@'%' WITH GRANT OPTION;",
      'CREATE DATABASE hub;',
    ].join('\n'),
  );
  const tls = { ca: join(dir, 'ca.crt'), cert: join(dir, 'server.crt'), key: join(dir, 'server.key') };
  for (const name of ['ca', 'cert', 'key'] as const) await copyFile(options.certificates[name], tls[name]);
  if (user) for (const path of [dir, init, ...Object.values(tls)]) await chown(path, user.uid, user.gid);

  const data = join(dir, 'data');
  const asUser = user ? ['--user=mysql'] : [];
  await run(commands.install, [
    '--no-defaults',
    `--datadir=${data}`,
    ...asUser,
    '--auth-root-authentication-method=normal',
    '--skip-test-db',
  ]);
  const server = await startServer({
    command: commands.server,
    args: [
      '--no-defaults',
      ...asUser,
      `--datadir=${data}`,
      `--port=${options.port}`,
      '--bind-address=127.0.0.1',
      `--socket=${join(dir, 's')}`,
      `--init-file=${init}`,
      `--ssl-ca=${tls.ca}`,
      `--ssl-cert=${tls.cert}`,
      `--ssl-key=${tls.key}`,
      '--innodb-flush-log-at-trx-commit=0',
      '--innodb-buffer-pool-size=128M',
      '--skip-log-bin',
      // A server without this plugin starts nevertheless.
      '--plugin-load-add=auth_ed25519',
      '--max-connections=300',
      '--skip-name-resolve',
    ],
    port: options.port,
    timeoutMs: 30_000,
    stopSignal: 'SIGTERM',
  });
  const url = `mysql://tester:${password}@127.0.0.1:${options.port}/hub`;
  return { ...server, url, ca: options.certificates.ca };
}
