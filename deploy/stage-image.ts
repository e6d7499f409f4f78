/**
 * Tries the images out where there is no engine: runs the steps of deploy/Dockerfile into directories, starts the four
 * services from them as a user that owns nothing, and makes calls. The executor shows its health only: it has no database
 * to call.
 *
 *     node deploy/stage-image.ts
 *
 * Wants root, to become somebody else, and the package registry or npm's cache. Fails on anything written outside of
 * the data directories.
 */

import { execFileSync } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, matchesGlob, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseDockerfile, readIgnore, type Stage, type Step } from './dockerfile-steps.ts';
import { tryServices } from './try-services.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
export const services = ['gateway', 'catalog', 'executor', 'ml'] as const;

export interface StagedImage {
  service: string;
  /** What `/app` is in the image. */
  dir: string;
  entrypoint: string[];
  env: Record<string, string>;
  /** Packages of others, at any depth. */
  packages: number;
}

/** Builds every target under `out`, which must be empty. */
export async function stageImages(out: string): Promise<StagedImage[]> {
  const stages = parseDockerfile(await readFile(join(root, 'deploy/Dockerfile'), 'utf8'));
  const kept = readIgnore(await readFile(join(root, '.dockerignore'), 'utf8'), matchesGlob);
  for (const stage of stages) await buildStage(stage, out, kept);
  return Promise.all(
    services.map(async (service) => {
      const stage = stages.find(({ name }) => name === service);
      if (stage === undefined) throw new Error(`deploy/Dockerfile has no target ${service}.`);
      const dir = join(out, service);
      return {
        service,
        dir,
        entrypoint: stage.entrypoint,
        env: stage.env,
        packages: await countPackages(dir),
      };
    }),
  );
}

async function buildStage(stage: Stage, out: string, kept: (path: string) => boolean): Promise<void> {
  const dir = join(out, stage.name);
  await mkdir(dir, { recursive: true });
  const parent = join(out, stage.base);
  // A base image is not a directory here: Node comes from the machine.
  await cp(parent, dir, { recursive: true, verbatimSymlinks: true }).catch((err: NodeJS.ErrnoException) => {
    if (err.code !== 'ENOENT') throw err;
  });
  for (const step of stage.steps) await runStep(step, { dir, out, kept });
}

async function runStep(
  step: Step,
  { dir, out, kept }: { dir: string; out: string; kept: (path: string) => boolean },
): Promise<void> {
  if (step.kind === 'run') {
    const [command = '', ...args] = step.command;
    execFileSync(command, args, { cwd: dir, stdio: ['ignore', 'ignore', 'inherit'] });
    return;
  }
  if (step.from !== undefined) {
    await cp(join(out, step.from), dir, { recursive: true, verbatimSymlinks: true });
    return;
  }
  for (const source of step.sources) {
    const many = step.sources.length > 1 || step.target.endsWith('/');
    const target = many ? join(dir, step.target, source.split('/').at(-1) ?? '') : join(dir, step.target);
    await mkdir(dirname(target), { recursive: true });
    await cp(join(root, source), target, {
      recursive: true,
      // Folders are entered in any case: what counts is whether their files are kept.
      filter: (path) => !path.includes('/node_modules') && kept(relative(root, path)),
    });
  }
}

async function countPackages(dir: string): Promise<number> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  const found = entries
    .filter((entry) => entry.name === 'package.json' && entry.isFile())
    .filter((entry) => /node_modules\/(@[^/]+\/)?[^/]+$/.test(entry.parentPath));
  return found.length;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.getuid?.() !== 0) throw new Error('Run it as root: services are started as somebody else.');
  const out = await mkdtemp(join(tmpdir(), 'data-hub-images-'));
  await chmod(out, 0o755);
  try {
    const images = await stageImages(out);
    for (const { service, packages } of images) {
      process.stdout.write(`${service}: ${packages} packages\n`);
    }
    await tryServices(images, (line) => process.stdout.write(`${line}\n`));
  } finally {
    await rm(out, { recursive: true, force: true });
  }
}
