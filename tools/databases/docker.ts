/** The same servers from Docker, if nothing else is available and a Docker engine runs. */

import { randomBytes } from 'node:crypto';
import type { StartedDatabase } from './postgres.ts';
import { findCommand, run } from './process.ts';

interface Image {
  image: string;
  containerPort: number;
  env: (password: string) => string[];
  url: (password: string, port: string) => string;
  /** Exits with 0 inside the container once the server is ready. */
  ready: (password: string) => string[];
}

const postgres = (version: number): Image => ({
  image: `postgres:${version}`,
  containerPort: 5432,
  env: (password) => [`POSTGRES_PASSWORD=${password}`],
  url: (password, port) => `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
  ready: () => ['pg_isready', '-h', '127.0.0.1', '-U', 'postgres'],
});

const images: Record<string, Image> = {
  POSTGRES_URL: postgres(17),
  POSTGRES18_URL: postgres(18),
  MARIADB_URL: {
    image: 'mariadb:11',
    containerPort: 3306,
    env: (password) => [`MARIADB_ROOT_PASSWORD=${password}`, 'MARIADB_DATABASE=hub'],
    url: (password, port) => `mysql://root:${password}@127.0.0.1:${port}/hub`,
    ready: (password) => ['mariadb', '-h127.0.0.1', '-uroot', `-p${password}`, '-e', 'SELECT 1'],
  },
  MYSQL_URL: {
    image: 'mysql:9',
    containerPort: 3306,
    env: (password) => [`MYSQL_ROOT_PASSWORD=${password}`, 'MYSQL_DATABASE=hub'],
    url: (password, port) => `mysql://root:${password}@127.0.0.1:${port}/hub`,
    ready: (password) => ['mysql', '-h127.0.0.1', '-uroot', `-p${password}`, '-e', 'SELECT 1'],
  },
  MONGODB_URL: {
    image: 'mongo:8',
    containerPort: 27017,
    env: () => [],
    url: (_password, port) => `mongodb://127.0.0.1:${port}/`,
    ready: () => ['mongosh', '--quiet', '--eval', '1'],
  },
};

const readyTimeoutMs = 120_000;

export async function hasDocker(): Promise<boolean> {
  if (findCommand('docker') === undefined) return false;
  return run('docker', ['info']).then(
    () => true,
    () => false,
  );
}

export async function startInDocker(variable: string): Promise<StartedDatabase> {
  const image = images[variable];
  if (image === undefined) throw new Error(`There is no image for ${variable}.`);
  const password = randomBytes(12).toString('hex');
  const env = image.env(password).flatMap((pair) => ['-e', pair]);
  const publish = ['-p', `127.0.0.1::${image.containerPort}`];
  const id =
    (await run('docker', ['run', '-d', '--rm', ...publish, ...env, image.image])).trim().split('\n').at(-1) ??
    '';
  const stop = async () => {
    await run('docker', ['rm', '-f', id]);
  };
  const mapped = await run('docker', ['port', id, String(image.containerPort)]);
  const port = mapped.trim().split(':').at(-1) ?? '';
  const deadline = Date.now() + readyTimeoutMs;
  for (;;) {
    const ready = await run('docker', ['exec', id, ...image.ready(password)]).then(
      () => true,
      () => false,
    );
    if (ready) return { url: image.url(password, port), stop };
    if (Date.now() > deadline) {
      await stop();
      throw new Error(`${image.image} was not ready within ${readyTimeoutMs} ms.`);
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}
