/**
 * Serves the console at `/` and the API's page at `/docs` without a key. The files have no data: they request it from
 * the API.
 */

import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { HubError } from '@datahub/service-kit/call/error';
import { loadOnce } from '@datahub/service-kit/load-once';
import type { FastifyInstance, FastifyRequest } from 'fastify';

interface File {
  identity: Buffer;
  br: Buffer;
  gzip: Buffer;
  etag: string;
}

const require = createRequire(import.meta.url);

type Coding = 'br' | 'gzip' | 'identity';

/** The files that `packages/console` builds, and their media types. */
const consoleTypes = new Map([
  ['index.html', 'text/html'],
  ['console.js', 'text/javascript'],
  ['later.js', 'text/javascript'],
  ['editor.js', 'text/javascript'],
  ['format.js', 'text/javascript'],
  ['chart.js', 'text/javascript'],
  ['worker.js', 'text/javascript'],
  ['licences.txt', 'text/plain'],
  ['docs.html', 'text/html'],
  ['docs.css', 'text/css'],
  ['docs.js', 'text/javascript'],
]);
/** The files of Swagger UI that the API's page uses. */
const swaggerTypes = new Map([
  ['swagger-ui.css', 'text/css'],
  ['swagger-ui-bundle.js', 'text/javascript'],
  ['swagger-ui-bundle.js.LICENSE.txt', 'text/plain'],
]);

const pages = new Map([
  ['index.html', '/'],
  ['docs.html', '/docs'],
]);
const addressOf = (name: string): string =>
  pages.get(name) ?? (name.startsWith('docs.') ? `/docs/${name}` : `/console/${name}`);

const served = [
  ...[...consoleTypes].map(([name, type]) => ({
    path: `@datahub/console/${name}`,
    address: addressOf(name),
    type,
  })),
  ...[...swaggerTypes].map(([name, type]) => ({
    path: `swagger-ui-dist/${name}`,
    address: `/docs/${name}`,
    type,
  })),
];

export const consolePaths = served.map(({ address }) => address);

/** The policy allows only scripts and requests of the page's own origin, so that no displayed value can run code. */
const headers = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  // Browsers cache the files and revalidate them each time, because files of two versions do not fit together.
  'cache-control': 'no-cache',
  vary: 'accept-encoding',
};

export function registerConsole(app: FastifyInstance, { enabled }: { enabled: boolean }): void {
  for (const { path, address, type } of served) {
    const read = enabled ? readOnce(path) : refuse;
    app.get(address, async (request, reply) => {
      const file = await read();
      const coding = codingFor(request);
      const etag = coding === 'identity' ? `"${file.etag}"` : `"${file.etag}-${coding}"`;
      reply.headers({ ...headers, etag });
      if (matches(request.headers['if-none-match'], etag)) return reply.code(304).send();
      if (coding !== 'identity') reply.header('content-encoding', coding);
      return reply.header('content-type', `${type}; charset=utf-8`).send(file[coding]);
    });
  }
}

async function refuse(): Promise<never> {
  throw new HubError('NOT_FOUND', 'There is no such path. /openapi.json lists all paths.');
}

/** Reads and compresses a file at the first request. If that fails, the next request tries again. */
function readOnce(path: string): () => Promise<File> {
  return loadOnce(async () => {
    const identity = await readFile(require.resolve(path));
    const params = {
      [constants.BROTLI_PARAM_QUALITY]: 10,
      [constants.BROTLI_PARAM_SIZE_HINT]: identity.length,
    };
    const [br, gzipped] = await Promise.all([
      promisify(brotliCompress)(identity, { params }),
      promisify(gzip)(identity, { level: 9 }),
    ]);
    return { identity, br, gzip: gzipped, etag: hash('sha256', identity, 'base64url').slice(0, 22) };
  });
}

/** The smallest coding that the caller accepts; a weight of 0 refuses a coding. */
function codingFor({ headers }: FastifyRequest): Coding {
  const accepted = String(headers['accept-encoding'] ?? '')
    .toLowerCase()
    .split(',')
    .map((part) => part.trim())
    .filter((part) => !/;\s*q=0(\.0*)?$/.test(part))
    .map((part) => part.split(';', 1)[0]?.trim());
  return (['br', 'gzip'] as const).find((coding) => accepted.includes(coding)) ?? 'identity';
}

/** Compares weakly, because a proxy that compresses makes the ETag weak. */
function matches(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const tags = ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes('*') || tags.includes(etag);
}
