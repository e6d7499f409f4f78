/** The page for people, at `/`: files that hold nobody's data, without a key. What it shows it asks of the API, as any client does. */

import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { HubError } from '@datahub/service-kit/call/error';
import type { FastifyInstance } from 'fastify';

interface File {
  content: Buffer;
  etag: string;
}

const folder = new URL('../console/', import.meta.url);
const types = { html: 'text/html', css: 'text/css', js: 'text/javascript' };
/** The name of each file in the folder and its address. */
const addresses = new Map([
  ['index.html', '/'],
  ['console.css', '/console/console.css'],
  ['console.js', '/console/console.js'],
  ['api.js', '/console/api.js'],
  ['query.js', '/console/query.js'],
]);

export const consolePaths = [...addresses.values()];

/** The page runs its own files and talks to its own hub, whatever a value that it shows may hold. */
const headers = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  // Kept, and asked for again each time: files of two versions do not fit together.
  'cache-control': 'no-cache',
};

export function registerConsole(app: FastifyInstance, { enabled }: { enabled: boolean }): void {
  for (const [name, url] of addresses) {
    const read = enabled ? readOnce(new URL(name, folder)) : refuse;
    const type = types[name.split('.').at(-1) as keyof typeof types];
    app.get(url, async (request, reply) => {
      const { content, etag } = await read();
      reply.headers({ ...headers, etag });
      if (holds(request.headers['if-none-match'], etag)) return reply.code(304).send();
      return reply.header('content-type', `${type}; charset=utf-8`).send(content);
    });
  }
}

async function refuse(): Promise<never> {
  throw new HubError('NOT_FOUND', 'There is no such path. /openapi.json lists them all.');
}

/** At the first request, and again only where that failed. */
function readOnce(path: URL): () => Promise<File> {
  let reading: Promise<File> | undefined;
  const read = async (): Promise<File> => {
    const content = await readFile(path);
    return { content, etag: `"${hash('sha256', content, 'base64url').slice(0, 22)}"` };
  };
  return () => {
    reading ??= read().catch((err) => {
      reading = undefined;
      throw err;
    });
    return reading;
  };
}

/** A proxy that compresses makes the tag a weak one. */
function holds(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const tags = ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes('*') || tags.includes(etag);
}
