/** The packed program: one file that needs no package. */

import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';

const pathOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const reading = "readFileSync(libraryUrl, 'utf8')";

/** Puts the Python of generated modules, which the sources read from a file, into the bundle. */
const pythonLibrary: Plugin = {
  name: 'python-library',
  setup: ({ onLoad }) =>
    onLoad({ filter: /types\/python-module\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      if (!text.includes(reading)) throw new Error(`${path} reads its library in another way.`);
      const library = JSON.stringify(readFileSync(pathOf('src/types/hub.py'), 'utf8'));
      return { contents: text.replace(reading, () => library), loader: 'ts' };
    }),
};

export async function bundle(): Promise<Uint8Array> {
  const { outputFiles = [] } = await build({
    entryPoints: [pathOf('src/main.ts')],
    absWorkingDir: pathOf('.'),
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    target: ['node20'],
    charset: 'utf8',
    legalComments: 'inline',
    logLevel: 'error',
    // Their ES modules, of which only what is used is bundled. The modules of yaml for Node also load `process`.
    alias: {
      graphql: fileURLToPath(
        import.meta.resolve('graphql/package.json').replace('package.json', 'index.mjs'),
      ),
      yaml: fileURLToPath(
        import.meta.resolve('yaml/package.json').replace('package.json', 'browser/index.js'),
      ),
    },
    plugins: [pythonLibrary],
  });
  return outputFiles[0]?.contents as Uint8Array;
}
