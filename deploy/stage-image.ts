/**
 * Tests the images without a container engine: runs the steps of deploy/Dockerfile into directories, and starts from them
 * first the four services as the user of the images, then the hub in one process as another user. Neither user owns a file
 * there. Then it makes calls. The executor has no database here, so only its health is tested.
 *
 *     node deploy/stage-image.ts
 *
 * It needs root, to start the services as another user, and the package registry or npm's cache. It fails if an image
 * contains test code, or if a service writes outside of its data directory.
 */

import { execFileSync } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, matchesGlob, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseDockerfile, readIgnore, type Stage, type Step } from './dockerfile-steps.ts';
import { type StagedImage, tryHub, tryServices } from './try-services.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
export const services = ['gateway', 'catalog', 'executor', 'ml'] as const;
/** The last is all services in one process. */
export const targets = [...services, 'hub'] as const;

/** Builds every target under `out`, which must be empty. */
export async function stageImages(out: string): Promise<StagedImage[]> {
  const stages = parseDockerfile(await readFile(join(root, 'deploy/Dockerfile'), 'utf8'));
  const kept = readIgnore(await readFile(join(root, '.dockerignore'), 'utf8'), matchesGlob);
  for (const stage of stages) await buildStage(stage, out, kept);
  return Promise.all(
    targets.map(async (service) => {
      const stage = stages.find(({ name }) => name === service);
      if (stage === undefined) throw new Error(`deploy/Dockerfile has no target ${service}.`);
      const dir = join(out, service);
      return {
        service,
        dir,
        entrypoint: stage.entrypoint,
        healthCheck: stage.healthCheck,
        env: stage.env,
        userId: Number.parseInt(stage.user, 10),
        packages: await countPackages(dir),
      };
    }),
  );
}

async function buildStage(stage: Stage, out: string, kept: (path: string) => boolean): Promise<void> {
  const dir = join(out, stage.name);
  await mkdir(dir, { recursive: true });
  const parent = join(out, stage.base);
  // A base image has no directory: the services run on this machine's Node.
  await cp(parent, dir, { recursive: true, verbatimSymlinks: true }).catch((err: NodeJS.ErrnoException) => {
    if (err.code !== 'ENOENT') throw err;
  });
  for (const step of stage.steps) await runStep(step, { dir, out, kept, env: stage.env });
}

async function runStep(
  step: Step,
  { dir, out, kept, env }: { dir: string; out: string; kept: (path: string) => boolean; env: Stage['env'] },
): Promise<void> {
  if (step.kind === 'run') {
    const [command = '', ...args] = step.command;
    // Code that is compiled goes to the folder of the image.
    const { NODE_COMPILE_CACHE: _, ...own } = process.env;
    execFileSync(command === 'node' ? process.execPath : command, args, {
      cwd: dir,
      env: { ...own, ...env },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    return;
  }
  // Outside of /app there is only the empty directory for the volume.
  if (step.target.startsWith('/')) return;
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
      // Copying visits ignored folders too; only the files that .dockerignore keeps are copied.
      filter: (path) => !path.includes('/node_modules') && kept(relative(root, path)),
    });
  }
}

/** Files of the image that only tests use. */
async function testCodeIn(dir: string): Promise<string[]> {
  const paths = await readdir(dir, { recursive: true });
  return paths.filter((path) => !path.includes('node_modules') && /(^|\/)tests?\/|\.test\.ts$/.test(path));
}

async function countPackages(dir: string): Promise<number> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  const found = entries
    .filter((entry) => entry.name === 'package.json' && entry.isFile())
    .filter((entry) => /node_modules\/(@[^/]+\/)?[^/]+$/.test(entry.parentPath));
  return found.length;
}

/** Builds all images in a temporary folder, starts them and makes calls. */
export async function tryImages(log: (line: string) => void): Promise<void> {
  if (process.getuid?.() !== 0) throw new Error('Run this as root: it starts the services as another user.');
  const out = await mkdtemp(join(tmpdir(), 'data-hub-images-'));
  await chmod(out, 0o755);
  try {
    const images = await stageImages(out);
    for (const { service, dir, packages } of images) {
      const testCode = await testCodeIn(dir);
      if (testCode.length > 0) throw new Error(`${service} contains test code: ${testCode.join(', ')}.`);
      log(`${service}: ${packages} packages, no test code`);
    }
    await tryServices(
      images.filter(({ service }) => service !== 'hub'),
      log,
    );
    await tryHub(images.find(({ service }) => service === 'hub') as StagedImage, log);
  } finally {
    await rm(out, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  await tryImages((line) => process.stdout.write(`${line}\n`));
