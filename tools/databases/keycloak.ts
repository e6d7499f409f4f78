/**
 * A temporary Keycloak, a provider of OpenID Connect, for the tests of sign-in: the one in the cache, else one unpacked
 * from Maven Central, else one from Docker.
 */

import { randomBytes } from 'node:crypto';
import { access, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '@datahub/service-kit/process/free-port';
import { cacheDir } from '../cache.ts';
import { createInstaller } from './debian.ts';
import { hasDocker } from './docker.ts';
import { findCommand, run, type Server, startServer } from './process.ts';

export interface StartedKeycloak extends Server {
  /** With the name and the password of an admin. The host of a request decides the issuer of its realms. */
  url: string;
}

const version = '26.5.6';
const artifact = `org.keycloak:keycloak-quarkus-dist:${version}:zip`;
const image = `quay.io/keycloak/keycloak:${version}`;
/** What unpacks and runs it, and Debian's packages. */
const programs = { java: 'default-jre-headless', mvn: 'maven', unzip: 'unzip' };
const admin = 'admin';
/** A start takes twenty seconds alone. */
const timeoutMs = 300_000;

type Say = (line: string) => void;

/** KEYCLOAK_URL, else a server that was started here. Undefined if there is none; `say` has got the reason. */
export async function startKeycloak({ say }: { say: Say }): Promise<StartedKeycloak | undefined> {
  const given = process.env.KEYCLOAK_URL;
  if (given) return { url: given, stop: async () => {} };
  const dir = await unpack(say).catch((err: Error) => {
    say(`Keycloak could not be unpacked: ${err.message}`);
    return undefined;
  });
  if (dir !== undefined) return startHere(dir);
  if (await hasDocker()) return startInDocker();
  say(
    'KEYCLOAK_URL is not set, and no Keycloak could be started. Set it, install Java and Maven, or start Docker.',
  );
  return undefined;
}

/** The directory of a Keycloak that can be started. Undefined without Java or Maven. */
async function unpack(say: Say): Promise<string | undefined> {
  const dir = join(cacheDir, `keycloak-${version}`);
  const isThere = await access(dir).then(
    () => true,
    () => false,
  );
  const needed = Object.entries(programs).filter(([name]) => !isThere || name === 'java');
  const lacking = () => needed.filter(([name]) => findCommand(name) === undefined);
  const installer = createInstaller();
  const packages = lacking().map(([, name]) => name);
  if (packages.length > 0 && installer.able) {
    say(`installing ${packages.join(', ')} …`);
    await installer.install(packages);
  }
  if (lacking().length > 0) return undefined;
  if (!isThere) {
    say(`unpacking Keycloak ${version} from Maven Central (about a minute) …`);
    await unpackTo(dir);
  }
  return dir;
}

async function unpackTo(dir: string): Promise<void> {
  const draft = `${dir}.${process.pid}`;
  await mkdir(draft, { recursive: true });
  try {
    const copy = ['dependency:copy', `-Dartifact=${artifact}`, `-DoutputDirectory=${draft}`];
    await run('mvn', ['-q', '-B', ...copy], { cwd: draft });
    const [zip = ''] = await readdir(draft);
    await run('unzip', ['-q', zip], { cwd: draft });
    const unpacked = join(draft, `keycloak-${version}`);
    await run(join(unpacked, 'bin/kc.sh'), ['build', '--db=dev-mem']);
    // A concurrent run may have unpacked it first.
    await rename(unpacked, dir).catch((err: NodeJS.ErrnoException) => {
      if (err.code !== 'ENOTEMPTY' && err.code !== 'EEXIST') throw err;
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

async function startHere(dir: string): Promise<StartedKeycloak> {
  const [port, password] = [await freePort(), randomBytes(12).toString('hex')];
  const address = ['--http-enabled=true', '--http-host=127.0.0.1', `--http-port=${port}`];
  const server = await startServer({
    command: join(dir, 'bin/kc.sh'),
    args: ['start', '--optimized', ...address, '--hostname-strict=false'],
    port,
    timeoutMs,
    stopSignal: 'SIGTERM',
    env: {
      ...process.env,
      ...bootstrap(password),
      // It runs for two minutes: compiling thoroughly would take longer than it saves.
      JAVA_OPTS_APPEND: '-XX:TieredStopAtLevel=1',
      JAVA_OPTS_KC_HEAP: '-Xms64m -Xmx512m',
    },
  });
  return { ...server, url: urlOf(port, password) };
}

/** In the network of this machine, because it calls the hub. */
async function startInDocker(): Promise<StartedKeycloak> {
  const [port, password] = [await freePort(), randomBytes(12).toString('hex')];
  const env = Object.entries(bootstrap(password)).flatMap((pair) => ['-e', pair.join('=')]);
  const address = ['--http-host=127.0.0.1', `--http-port=${port}`];
  const started = await run('docker', [
    ...['run', '-d', '--rm', '--network=host', ...env, image, 'start-dev'],
    ...[...address, '--hostname-strict=false'],
  ]);
  const id = started.trim().split('\n').at(-1) ?? '';
  const stop = async () => void (await run('docker', ['rm', '-f', id]));
  const url = urlOf(port, password);
  const deadline = performance.now() + timeoutMs;
  while (!(await answers(url))) {
    if (performance.now() > deadline) {
      await stop();
      throw new Error(`${image} was not ready within ${timeoutMs} ms.`);
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  return { url, stop };
}

const bootstrap = (password: string) => ({
  KC_BOOTSTRAP_ADMIN_USERNAME: admin,
  KC_BOOTSTRAP_ADMIN_PASSWORD: password,
});
const urlOf = (port: number, password: string) => `http://${admin}:${password}@127.0.0.1:${port}`;
const answers = (url: string): Promise<boolean> =>
  fetch(new URL('/realms/master', new URL(url).origin)).then(
    ({ ok }) => ok,
    () => false,
  );
