/** Builds the files that the gateway serves at `/` from `src`. */

import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { type BuildOptions, build } from 'esbuild';

const pathOf = (name: string) => fileURLToPath(new URL(`src/${name}`, import.meta.url));

const options: BuildOptions = {
  outdir: 'out',
  bundle: true,
  write: false,
  minify: true,
  format: 'esm',
  target: ['es2023', 'chrome120', 'firefox121', 'safari17.2'],
  charset: 'utf8',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
  logLevel: 'error',
};

const placeholder = 'the hash of the bundle';

/** The text of a bundled style sheet. A script brings it along: a file of its own would be one request more. */
async function sheet(name: string): Promise<string> {
  const { outputFiles = [] } = await build({ ...options, entryPoints: [pathOf(`styles/${name}.css`)] });
  return JSON.stringify(outputFiles[0]?.text.trim());
}

/** `later` is loaded after the first page. What both use exists once: in `shared`, which `inOneFile` adds to `console`. */
const pages = async (): Promise<BuildOptions> => ({
  ...options,
  define: {
    BUILD: JSON.stringify(placeholder),
    FIRST_STYLES: await sheet('console'),
    LATER_STYLES: await sheet('later'),
  },
  entryPoints: [
    { in: pathOf('app/main.tsx'), out: 'console' },
    { in: pathOf('pages/lazy-views.ts'), out: 'later' },
  ],
  splitting: true,
  chunkNames: 'shared',
});

/** Each stands alone, so that a name never depends on what is in it: the page loads it when it is first needed. */
const alone: BuildOptions = {
  ...options,
  entryPoints: [
    { in: pathOf('ui/editor/editor.ts'), out: 'editor' },
    { in: pathOf('ui/editor/format.ts'), out: 'format' },
    { in: pathOf('ui/chart/chart.ts'), out: 'chart' },
    { in: pathOf('state/schema/worker.ts'), out: 'worker' },
    { in: pathOf('pages/docs/docs.ts'), out: 'docs' },
    { in: pathOf('pages/docs/docs.css'), out: 'docs' },
  ],
};

interface BuiltFile {
  path: string;
  text: string;
}

const nameOf = (path: string): string => path.split(/[\\/]/).at(-1) ?? '';

/** The first page loads one script, which exports what `later` needs of it: each file is a request. */
async function inOneFile(split: readonly BuiltFile[]): Promise<BuiltFile[]> {
  const texts = new Map(split.map(({ path, text }) => [nameOf(path), text]));
  const { outputFiles = [] } = await build({
    ...options,
    outfile: 'console.js',
    outdir: undefined,
    jsx: undefined,
    stdin: { contents: "import './console.js'; export * from './shared.js';" },
    plugins: [
      {
        name: 'built files',
        setup: ({ onResolve, onLoad }) => {
          onResolve({ filter: /^\.\/later\.js$/ }, ({ path }) => ({ path, external: true }));
          onResolve({ filter: /^\.\// }, ({ path }) => ({ path: nameOf(path), namespace: 'built' }));
          onLoad({ filter: /./, namespace: 'built' }, ({ path }) => ({ contents: texts.get(path) }));
        },
      },
    ],
  });
  const later = texts.get('later.js') ?? '';
  return [
    { path: 'console.js', text: outputFiles[0]?.text ?? '' },
    { path: 'later.js', text: later.replaceAll('"./shared.js"', '"./console.js"') },
  ];
}

/** Returns the content of each file by name. */
export async function bundle(): Promise<Map<string, Uint8Array>> {
  const [{ outputFiles: chunks = [] }, { outputFiles = [] }] = await Promise.all([
    build(await pages()),
    build(alone),
  ]);
  const split = await inOneFile(chunks);
  const stamp = hash('sha256', split.map(({ text }) => text).join(''), 'base64url').slice(0, 12);
  const stamped = split.map(({ path, text }) => ({
    path,
    contents: Buffer.from(text.replaceAll(placeholder, stamp)),
  }));
  const files = [...stamped, ...outputFiles].map(({ path, contents }) => [nameOf(path), contents] as const);
  const licences = await readFile(new URL('licences.txt', import.meta.url));
  const page = await readFile(pathOf('app/index.html'));
  const docs = await readFile(pathOf('pages/docs/docs.html'));
  return new Map([['index.html', page], ['docs.html', docs], ['licences.txt', licences], ...files]);
}
