/**
 * Starts real servers for the tests. For each it uses, in this order: the URL in the environment; an installed server;
 * Debian's package, installed if this machine permits it (MySQL and PostgreSQL 18 are only unpacked); Docker. If
 * nothing works, it prints a line that says what is missing. As a program, it starts the servers, prints their URLs as
 * shell exports, and runs until it is interrupted. Tests start OpenSSH's server themselves, so it is only installed.
 */

import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '@datahub/service-kit/process/free-port';
import { cacheDir } from './cache.ts';
import { type Certificates, createCertificates } from './databases/certificates.ts';
import { createInstaller, type Installer } from './databases/debian.ts';
import { hasDocker, startInDocker } from './databases/docker.ts';
import { buildFerretdb, canBuildFerretdb, startFerretdb } from './databases/ferretdb.ts';
import { findMariadb, startMariadb } from './databases/mariadb.ts';
import { canUnpackMysql, findMysql, startMysql, unpackMysql } from './databases/mysql.ts';
import {
  findPgbouncer,
  type PoolerOptions,
  type StartedPooler,
  startPgbouncer,
} from './databases/pgbouncer.ts';
import { findPgpool, startPgpool } from './databases/pgpool.ts';
import { findPostgres, type StartedDatabase, startPostgres } from './databases/postgres.ts';
import { canUnpackPostgres18, unpackPostgres18 } from './databases/postgres-18.ts';
import { findCommand } from './databases/process.ts';
import { findSshd } from './databases/sshd.ts';

export interface Databases {
  /**
   * The variables that the tests read, for the servers that were found: POSTGRES_URL, POSTGRES18_URL, MARIADB_URL,
   * MYSQL_URL and MONGODB_URL; PGBOUNCER_URL, PGBOUNCER_TRANSACTION_URL, PGBOUNCER_STATEMENT_URL and PGPOOL_URL for
   * poolers in front of POSTGRES_URL; and TEST_CA, the path of a PEM file. TEST_CA is set only if every SQL server of
   * this run has a certificate from it.
   */
  env: Record<string, string>;
  /** A message for each server that could not be started. */
  missing: string[];
  /** Stops only the servers that were started here, and removes their data. */
  close(): Promise<void>;
}

interface Context {
  dir: string;
  installer: Installer;
  certificates: Promise<Certificates>;
  say: (line: string) => void;
}

/** Starts a server with the software of this machine. Resolves to undefined if that is impossible. */
type Start = (context: Context) => Promise<StartedDatabase | undefined>;

const starts: Record<string, { start: Start; hint: string }> = {
  POSTGRES_URL: { start: postgresHere, hint: 'install PostgreSQL (Debian: postgresql)' },
  POSTGRES18_URL: { start: postgres18Here, hint: 'run on Linux x64, for which an npm package exists' },
  MARIADB_URL: { start: mariadbHere, hint: 'install MariaDB (Debian: mariadb-server)' },
  MYSQL_URL: { start: mysqlHere, hint: 'install MySQL' },
  MONGODB_URL: { start: ferretdbHere, hint: 'install Go 1.24 or newer, which builds FerretDB' },
};

const sqlVariables = ['POSTGRES_URL', 'POSTGRES18_URL', 'MARIADB_URL', 'MYSQL_URL'];

interface Pooler {
  /** The variable that is set if a pooler already exists. */
  variable: string;
  packageName: string;
  find: () => string | undefined;
  start: (program: string, options: PoolerOptions) => Promise<StartedPooler>;
}

const poolers: Pooler[] = [
  { variable: 'PGBOUNCER_URL', packageName: 'pgbouncer', find: findPgbouncer, start: startPgbouncer },
  { variable: 'PGPOOL_URL', packageName: 'pgpool2', find: findPgpool, start: startPgpool },
];

export async function startDatabases(options: { say: (line: string) => void }): Promise<Databases> {
  const dir = await mkdtemp(join(tmpdir(), 'datahub-servers-'));
  // Servers that refuse to run as root must be able to access their files in the directory.
  await chmod(dir, 0o755);
  const installer = createInstaller();
  const certificates = makeCertificates(join(dir, 'certificates'), installer);
  certificates.catch(() => {});
  const started: Record<string, StartedDatabase> = {};
  const missing: string[] = [];
  const context = { dir, installer, certificates, say: options.say };
  const startMissing = async (variable: string, start: Start, hint: string) => {
    try {
      started[variable] = await startOne(variable, start, context);
    } catch (err) {
      const problem = `${variable} is not set, and no server could be started: ${(err as Error).message}`;
      missing.push(`${problem} Set it, ${hint}, or start Docker.`);
    }
  };
  const wanted = Object.entries(starts).filter(([variable]) => !process.env[variable]);
  const starting = new Map(
    wanted.map(([variable, { start, hint }]) => [variable, startMissing(variable, start, hint)]),
  );
  const postgresUrl = async () => {
    await starting.get('POSTGRES_URL');
    return process.env.POSTGRES_URL || started.POSTGRES_URL?.url;
  };
  const startingPoolers = poolers.map(async (pooler) =>
    startPooler(pooler, await postgresUrl(), context).catch((err: Error) => {
      missing.push(`${pooler.variable} is not set, and the pooler could not be started: ${err.message}`);
      return undefined;
    }),
  );
  const findingSshd = findOrInstall(findSshd, 'openssh-server', context)
    .catch((err: Error) => void options.say(err.message))
    .then((found) => {
      if (found === undefined) missing.push('There is no sshd: install OpenSSH (Debian: openssh-server).');
    });
  const [startedPoolers] = await Promise.all([
    Promise.all(startingPoolers),
    ...starting.values(),
    findingSshd,
  ]);
  const stopAll = async () => {
    await Promise.all(startedPoolers.map((pooler) => pooler?.stop()));
    await Promise.all(Object.values(started).map((server) => server.stop()));
    await rm(dir, { recursive: true, force: true });
  };
  let closing: Promise<void> | undefined;
  return {
    env: { ...envOf(started), ...Object.assign({}, ...startedPoolers.map((pooler) => pooler?.urls)) },
    missing,
    close: () => {
      closing ??= stopAll();
      return closing;
    },
  };
}

function envOf(started: Record<string, StartedDatabase>): Record<string, string> {
  const env: Record<string, string> = {};
  for (const variable of Object.keys(starts)) {
    const url = process.env[variable] || started[variable]?.url;
    if (url) env[variable] = url;
  }
  const cas = sqlVariables.filter((variable) => env[variable]).map((variable) => started[variable]?.ca);
  const ca = process.env.TEST_CA || (cas.includes(undefined) ? undefined : cas[0]);
  return ca ? { ...env, TEST_CA: ca } : env;
}

async function makeCertificates(dir: string, installer: Installer): Promise<Certificates> {
  if (findCommand('openssl') === undefined && installer.able) await installer.install(['openssl']);
  return createCertificates(dir);
}

async function startOne(variable: string, start: Start, context: Context): Promise<StartedDatabase> {
  const began = performance.now();
  let problem = 'no server is installed here and Docker does not answer.';
  let server = await start(context).catch((err: Error) => {
    problem = err.message;
    return undefined;
  });
  if (server === undefined && (await hasDocker())) server = await startInDocker(variable);
  if (server === undefined) throw new Error(problem);
  context.say(`${variable} is up after ${((performance.now() - began) / 1_000).toFixed(1)} s`);
  return server;
}

/** Finds a program. If it is missing, installs its package and tries again. */
async function findOrInstall<T>(
  find: () => Promise<T | undefined> | T | undefined,
  packageName: string,
  { installer, say }: Context,
): Promise<T | undefined> {
  const found = await find();
  if (found !== undefined || !installer.able) return found;
  say(`installing ${packageName} …`);
  await installer.install([packageName]);
  return find();
}

async function postgresHere(context: Context): Promise<StartedDatabase | undefined> {
  const bin = await findOrInstall(findPostgres, 'postgresql', context);
  if (bin === undefined) return undefined;
  return startPostgres(bin, {
    dir: context.dir,
    certificates: await context.certificates,
    port: await freePort(),
  });
}

async function postgres18Here({ dir, certificates, say }: Context): Promise<StartedDatabase | undefined> {
  if (!canUnpackPostgres18()) return undefined;
  say('unpacking PostgreSQL 18 …');
  const bin = await unpackPostgres18(cacheDir, dir);
  return startPostgres(bin, {
    dir: join(dir, 'postgres-18'),
    certificates: await certificates,
    port: await freePort(),
  });
}

async function mariadbHere(context: Context): Promise<StartedDatabase | undefined> {
  const commands = await findOrInstall(findMariadb, 'mariadb-server', context);
  if (commands === undefined) return undefined;
  return startMariadb(commands, {
    dir: context.dir,
    certificates: await context.certificates,
    port: await freePort(),
  });
}

/** Unpacks MySQL if it is missing, because MariaDB and MySQL cannot be installed together. */
async function mysqlHere({ dir, certificates, say }: Context): Promise<StartedDatabase | undefined> {
  if ((await findMysql(cacheDir)) === undefined && (await canUnpackMysql())) {
    say('unpacking MySQL from Debian unstable (about a minute) …');
    await unpackMysql(cacheDir);
  }
  const found = await findMysql(cacheDir);
  if (found === undefined) return undefined;
  return startMysql(found, { dir, certificates: await certificates, port: await freePort() });
}

async function ferretdbHere({ dir, say }: Context): Promise<StartedDatabase | undefined> {
  if (!(await canBuildFerretdb())) return undefined;
  say('building FerretDB, unless it was built before …');
  return startFerretdb(await buildFerretdb(cacheDir), { dir, port: await freePort() });
}

/** Resolves to undefined if a pooler is already configured, or if there is no PostgreSQL for it. */
async function startPooler(
  { variable, packageName, find, start }: Pooler,
  postgresUrl: string | undefined,
  context: Context,
): Promise<StartedPooler | undefined> {
  if (process.env[variable] || postgresUrl === undefined) return undefined;
  const program = await findOrInstall(find, packageName, context);
  if (program === undefined) throw new Error(`it is not installed. Install it (Debian: ${packageName}).`);
  const [port, certificates] = [await freePort(), await context.certificates];
  return start(program, { dir: context.dir, port, certificates, postgresUrl });
}

async function runAsProgram(): Promise<void> {
  const say = (line: string) => process.stderr.write(`${line}\n`);
  const starting = startDatabases({ say });
  // Handles signals from the start, so that an early Ctrl-C leaves no server running.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => starting.then((databases) => databases.close()).then(() => process.exit(0)));
  }
  const databases = await starting;
  const exports = Object.entries(databases.env).map(([name, value]) => `export ${name}='${value}'\n`);
  process.stdout.write(exports.join(''));
  for (const line of databases.missing) say(line);
  say('They run until you press Ctrl-C.');
  setInterval(() => {}, 60_000);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runAsProgram();
