/** `npm run build -w packages/client`: writes the types of the routes, and what is published to `dist`. Both are committed. */

import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { bundle, emitGatewayRoutes } from './bundle.ts';

await writeFile(new URL('gen/routes.d.ts', import.meta.url), emitGatewayRoutes());
const dist = new URL('dist/', import.meta.url);
await mkdir(dist, { recursive: true });
const files = await bundle();
for (const name of await readdir(dist))
  if (!files.has(name)) await rm(new URL(name, dist), { recursive: true });
for (const [name, content] of files) {
  await mkdir(new URL('.', new URL(name, dist)), { recursive: true });
  await writeFile(new URL(name, dist), content);
  process.stdout.write(
    `${name.padEnd(16)} ${content.length} bytes, ${gzipSync(content).length} compressed\n`,
  );
}
