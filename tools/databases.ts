/**
 * Real servers for the tests. For each: the URL in the environment; else what is installed here; else Debian's package,
 * where this machine lets us install; else Docker; else a line that says what is missing. Run as a program, it starts
 * them, prints their URLs as shell exports, and stays until it is interrupted.
 */

import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Certificates, createCertificates } from './databases/certificates.ts';
import { createInstaller, type Installer } from './databases/debian.ts';
import { hasDocker, startInDocker } from './databases/docker.ts';
import { buildFerretdb, canBuildFerretdb, startFerretdb } from './databases/ferretdb.ts';
import { findMariadb, startMariadb } from './databases/mariadb.ts';
import { findPostgres, type StartedDatabase, startPostgres } from './databases/postgres.ts';
import { freePort, isOnPath } from './databases/process.ts';

export interface Databases {
  /** POSTGRES_URL, MARIADB_URL, MONGODB_URL, TEST_CA (a PEM file): what the tests read. */
  env: Record<string, string>;
  /** A sentence for each server that could not be had. */
  missing: string[];
  close(): Promise<void>;
}

interface Context {
  dir: string;
  installer: Installer;
  certificates: Certificates;
  say: (line: string) => void;
}

/** Starts a server from what is on this machine; undefined when that cannot be. */
type Start = (context: Context) => Promise<StartedDatabase | undefined>;

const cacheDir = fileURLToPath(new URL('../.cache/', import.meta.url));

const starts: Record<string, { start: Start; hint: string }> = {
  POSTGRES_URL: { start: postgresHere, hint: 'install PostgreSQL (Debian: postgresql)' },
  MARIADB_URL: { start: mariadbHere, hint: 'install MariaDB (Debian: mariadb-server)' },
  MONGODB_URL: { start: ferretdbHere, hint: 'install Go 1.24 or newer, from which FerretDB is built' },
};

export async function startDatabases(options: { say: (line: string) => void }): Promise<Databases> {
  const dir = await mkdtemp(join(tmpdir(), 'datahub-servers-'));
  await chmod(dir, 0o755);
  const installer = createInstaller();
  if (!isOnPath('openssl') && installer.able) await installer.install(['openssl']);
  const certificates = await createCertificates(join(dir, 'certificates'));
  await chmod(join(dir, 'certificates'), 0o755);
  const context: Context = { dir, installer, certificates, say: options.say };
  const started: StartedDatabase[] = [];
  const env: Record<string, string> = { TEST_CA: certificates.ca };
  const missing: string[] = [];
  await Promise.all(
    Object.entries(starts).map(async ([variable, { start, hint }]) => {
      const given = process.env[variable];
      if (given) {
        env[variable] = given;
        return;
      }
      try {
        const server = await startOne(variable, start, context);
        started.push(server);
        env[variable] = server.url;
      } catch (err) {
        missing.push(
          `${variable} is not set, and no server could be started: ${(err as Error).message} Set it, ${hint}, or start Docker.`,
        );
      }
    }),
  );
  return {
    env,
    missing,
    close: async () => {
      await Promise.all(started.map((server) => server.stop()));
      await rm(dir, { recursive: true, force: true });
    },
  };
}

async function startOne(variable: string, start: Start, context: Context): Promise<StartedDatabase> {
  const began = performance.now();
  const server = (await start(context)) ?? ((await hasDocker()) ? await startInDocker(variable) : undefined);
  if (server === undefined) throw new Error('nothing is installed here and Docker does not answer.');
  context.say(`${variable} is up after ${((performance.now() - began) / 1_000).toFixed(1)} s`);
  return server;
}

async function postgresHere({
  dir,
  installer,
  certificates,
  say,
}: Context): Promise<StartedDatabase | undefined> {
  let bin = await findPostgres();
  if (bin === undefined && installer.able) {
    say('installing postgresql …');
    await installer.install(['postgresql']);
    bin = await findPostgres();
  }
  return bin === undefined ? undefined : startPostgres(bin, { dir, certificates, port: await freePort() });
}

async function mariadbHere({
  dir,
  installer,
  certificates,
  say,
}: Context): Promise<StartedDatabase | undefined> {
  let commands = findMariadb();
  if (commands === undefined && installer.able) {
    say('installing mariadb-server …');
    await installer.install(['mariadb-server']);
    commands = findMariadb();
  }
  return commands === undefined
    ? undefined
    : startMariadb(commands, { dir, certificates, port: await freePort() });
}

async function ferretdbHere({ dir, say }: Context): Promise<StartedDatabase | undefined> {
  if (!(await canBuildFerretdb())) return undefined;
  say('building FerretDB, unless it was built before …');
  return startFerretdb(await buildFerretdb(cacheDir), { dir, port: await freePort() });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const say = (line: string) => process.stderr.write(`${line}\n`);
  const databases = await startDatabases({ say });
  for (const [name, value] of Object.entries(databases.env))
    process.stdout.write(`export ${name}='${value}'\n`);
  for (const line of databases.missing) say(line);
  say('They run until you press Ctrl-C.');
  const stop = () => databases.close().then(() => process.exit(0));
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  setInterval(() => {}, 60_000);
}
