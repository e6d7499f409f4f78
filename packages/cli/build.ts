/** `npm run build -w packages/cli`: writes the bundle, which is not committed, and the list of commands in docs/cli.md. */

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { bundle } from './bundle.ts';
import { commands } from './src/commands.ts';
import { withReference } from './src/derived/reference.ts';

const dist = new URL('dist/', import.meta.url);
await mkdir(dist, { recursive: true });
await writeFile(new URL('datahub.js', dist), await bundle());
const page = new URL('../../docs/cli.md', import.meta.url);
const text = await readFile(page, 'utf8');
const next = withReference(text, commands);
if (next !== text) await writeFile(page, next);
