/** `npm run build -w packages/console`: writes the bundle to `dist`, which is committed. */

import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { brotliCompressSync } from 'node:zlib';
import { bundle } from './bundle.ts';

const folder = new URL('dist/', import.meta.url);
const files = await bundle();
await mkdir(folder, { recursive: true });
for (const name of await readdir(folder)) if (!files.has(name)) await rm(new URL(name, folder));
for (const [name, content] of files) {
  await writeFile(new URL(name, folder), content);
  const compressed = brotliCompressSync(content).length;
  process.stdout.write(`${name.padEnd(14)} ${content.length} bytes, ${compressed} compressed\n`);
}
