/** A temporary MySQL with TLS and a user with a password: the installed one, or one unpacked from Debian unstable. */

import { randomBytes } from 'node:crypto';
import { access, copyFile, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Certificates } from './certificates.ts';
import type { StartedDatabase } from './postgres.ts';
import { findCommand, run, startServer } from './process.ts';

export interface Mysql {
  command: string;
  /** Arguments before the server's own. */
  args: string[];
}

/** The installed MySQL, else the one that `unpackMysql` left in the cache. MariaDB installs a `mysqld` as well. */
export async function findMysql(cacheDir: string): Promise<Mysql | undefined> {
  const command = findCommand('mysqld');
  if (command !== undefined && !/mariadb/i.test(await run(command, ['--version']).catch(() => 'MariaDB')))
    return { command, args: [] };
  return findUnpacked(join(cacheDir, 'mysql'));
}

/**
 * Finds the unpacked MySQL. It runs with its own libraries, including the C library, because those of the system may be
 * older.
 */
async function findUnpacked(root: string): Promise<Mysql | undefined> {
  const names = await readdir(root, { recursive: true }).catch(() => []);
  const paths = names.map((name) => join(root, name));
  const server = paths.find((path) => path.endsWith('/usr/sbin/mysqld'));
  const loader = paths.find((path) => /^ld-linux-.*\.so\.\d$/.test(basename(path)));
  if (server === undefined || loader === undefined) return undefined;
  const libraries = new Set(paths.filter((path) => /\.so(\.\d+)*$/.test(path)).map(dirname));
  const own = [
    `--lc-messages-dir=${join(root, 'usr/share/mysql')}`,
    `--plugin-dir=${join(root, 'usr/lib/mysql/plugin')}`,
  ];
  const args = ['--library-path', [...libraries].join(':'), server, '--no-defaults', ...own];
  return { command: loader, args };
}

/** True on a Debian with a mirror in its sources. Does not need root. */
export async function canUnpackMysql(): Promise<boolean> {
  const here = ['apt-get', 'dpkg-deb'].every((name) => findCommand(name) !== undefined);
  return here && (await mirrorOf()) !== undefined;
}

/** Debian has MySQL in unstable only. The package is unpacked into the cache; the system is not changed. */
export async function unpackMysql(cacheDir: string): Promise<void> {
  const draft = join(cacheDir, `mysql.${process.pid}`);
  const path = (name: string) => join(draft, name);
  for (const name of ['lists/partial', 'archives/partial', 'state', 'debs', 'root'])
    await mkdir(path(name), { recursive: true });
  try {
    await writeFile(path('sources.list'), `deb [check-valid-until=no] ${await mirrorOf()} sid main\n`);
    // An empty system, so that all libraries of the server are downloaded.
    await writeFile(path('status'), '');
    const options = [
      `Dir::Etc::sourcelist=${path('sources.list')}`,
      'Dir::Etc::sourceparts=/dev/null',
      `Dir::State=${path('state')}`,
      `Dir::State::lists=${path('lists')}`,
      `Dir::State::status=${path('status')}`,
      `Dir::Cache=${draft}`,
      'Acquire::Languages=none',
      'Acquire::Retries=3',
      // As root, apt would download as a user who cannot write to this directory.
      'APT::Sandbox::User=root',
    ].flatMap((option) => ['-o', option]);
    const apt = (...args: string[]) => run('apt-get', [...options, ...args], { cwd: path('debs') });
    await apt('update', '-qq');
    const plan = await apt('install', '-s', '--no-install-recommends', 'mysql-server-core');
    const packages = [...plan.matchAll(/^Inst (\S+)/gm)].map(([, name]) => name as string);
    await apt('download', '-qq', ...packages);
    for (const name of await readdir(path('debs')))
      await run('dpkg-deb', ['-x', path(`debs/${name}`), path('root')]);
    // A concurrent run may have unpacked it first.
    await rename(path('root'), join(cacheDir, 'mysql')).catch((err: NodeJS.ErrnoException) => {
      if (err.code !== 'ENOTEMPTY' && err.code !== 'EEXIST') throw err;
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** The mirror in the sources of this machine. */
async function mirrorOf(): Promise<string | undefined> {
  const parts = '/etc/apt/sources.list.d';
  const names = await readdir(parts).catch(() => []);
  const files = ['/etc/apt/sources.list', ...names.map((name) => join(parts, name))];
  for (const file of files) {
    const text = (await readFile(file, 'utf8').catch(() => '')).replace(/^#.*$/gm, '');
    const [mirror] = /https?:\/\/\S+\/debian\/?(?=\s|$)/m.exec(text) ?? [];
    if (mirror !== undefined) return mirror;
  }
  return undefined;
}

/** Less memory and no fsync; otherwise the defaults of MySQL. */
const small = [
  '--sync-binlog=0',
  '--log-bin-trust-function-creators=ON',
  '--mysqlx=OFF',
  '--innodb-buffer-pool-size=128M',
  '--innodb-flush-log-at-trx-commit=0',
  '--innodb-doublewrite=OFF',
  '--secure-file-priv=NULL',
];

/** In a `dir` of a stopped server it starts with the existing data and a new password. `more` are further arguments. */
export async function startMysql(
  { command, args }: Mysql,
  options: { dir: string; port: number; certificates: Certificates; more?: readonly string[] },
): Promise<StartedDatabase> {
  const dir = join(options.dir, 'mysql');
  const password = randomBytes(12).toString('hex');
  await mkdir(dir, { recursive: true });
  const init = join(dir, 'init.sql');
  await writeFile(
    init,
    [
      "CREATE USER IF NOT EXISTS 'tester'@'%';",
      `ALTER USER 'tester'@'%' IDENTIFIED BY '${password}';`,
      "GRANT ALL ON *.* TO 'tester'@'%' WITH GRANT OPTION;",
      'CREATE DATABASE IF NOT EXISTS hub;',
    ].join('\n'),
  );
  const tls = { ca: join(dir, 'ca.crt'), cert: join(dir, 'server.crt'), key: join(dir, 'server.key') };
  for (const name of ['ca', 'cert', 'key'] as const) await copyFile(options.certificates[name], tls[name]);
  const data = join(dir, 'data');
  const isNew = await access(data).then(
    () => false,
    () => true,
  );
  const shared = [
    ...(args.includes('--no-defaults') ? args : [...args, '--no-defaults']),
    // Another user may not be able to read the unpacked files. The server listens on this machine only.
    ...(process.getuid?.() === 0 ? ['--user=root'] : []),
    `--datadir=${data}`,
    ...small,
  ];
  if (isNew) await run(command, [...shared, '--initialize-insecure']);
  const server = await startServer({
    command,
    args: [
      ...shared,
      `--port=${options.port}`,
      '--bind-address=127.0.0.1',
      `--socket=${join(dir, 's')}`,
      `--pid-file=${join(dir, 'pid')}`,
      `--init-file=${init}`,
      `--ssl-ca=${tls.ca}`,
      `--ssl-cert=${tls.cert}`,
      `--ssl-key=${tls.key}`,
      '--max-connections=300',
      '--skip-name-resolve',
      ...(options.more ?? []),
    ],
    port: options.port,
    timeoutMs: 60_000,
    stopSignal: 'SIGTERM',
  });
  const url = `mysql://tester:${password}@127.0.0.1:${options.port}/hub`;
  return { ...server, url, ca: options.certificates.ca };
}
