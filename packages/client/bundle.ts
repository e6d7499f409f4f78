/** What is published: a file of JavaScript for each entry, and declarations. */

import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { buildOpenApi } from '../../services/gateway/src/resources/openapi.ts';
import { describeRoutes } from '../../services/gateway/src/routes.ts';
import { emitRoutes, type OpenApi } from './routes.ts';

const pathOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));

export function emitGatewayRoutes(): string {
  return emitRoutes(JSON.parse(JSON.stringify(buildOpenApi(describeRoutes()))) as OpenApi);
}

/** The name of each file in `dist` and its content. */
export async function bundle(): Promise<Map<string, Uint8Array>> {
  const { outputFiles = [] } = await build({
    entryPoints: [pathOf('src/index.ts'), pathOf('src/webhooks.ts')],
    outdir: pathOf('dist'),
    // The paths in the bundle's comments are relative to it.
    absWorkingDir: pathOf('.'),
    bundle: true,
    write: false,
    format: 'esm',
    // Node 20 and the browsers of its year.
    target: ['es2022'],
    charset: 'utf8',
    legalComments: 'none',
    logLevel: 'error',
  });
  const files = new Map(outputFiles.map(({ path, contents }) => [basename(path), contents]));
  for (const [name, content] of await declarations()) files.set(name, content);
  return files;
}

async function declarations(): Promise<[string, Uint8Array][]> {
  const dir = await mkdtemp(join(tmpdir(), 'datahub-client-'));
  try {
    const tsc = fileURLToPath(import.meta.resolve('typescript/package.json')).replace(
      /package\.json$/,
      'bin/tsc',
    );
    const options = ['--noEmit', 'false', '--declaration', '--emitDeclarationOnly', '--outDir', dir];
    const config = ['-p', pathOf('tsconfig.dist.json')];
    await promisify(execFile)(process.execPath, [tsc, ...config, ...options]);
    const entries = await readdir(dir, { recursive: true, withFileTypes: true });
    const paths = entries
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name));
    return await Promise.all(
      paths
        .sort()
        .map(async (path): Promise<[string, Uint8Array]> => [relative(dir, path), await readFile(path)]),
    );
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
