/** For the receiver of a webhook: whether the hub sent it (Standard Webhooks 1.0). Needs only the standards of the web. */

import type { Json } from './values.ts';

/** A request as `node:http`, `fetch` and workers have it. */
export interface WebhookRequest {
  headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** As it arrived: JSON that was parsed and written again has other bytes. */
  body: string | Uint8Array;
}

export interface WebhookEvent {
  /** The same in each attempt: ignore an id that you have seen. */
  id: string;
  type: string;
  /** When it happened. */
  timestamp: string;
  data: Record<string, Json>;
}

/** The request is not from the holder of the secret, or is too old. Answer with 400. */
export class WebhookError extends Error {
  override readonly name = 'WebhookError';
}

/** A request whose time differs by more is refused, so that nobody can send it again later. */
const toleranceS = 300;

/** Returns the event of a request that was signed with the secret, `whsec_…`. Throws a `WebhookError` otherwise. */
export async function verifyWebhook(secret: string, request: WebhookRequest): Promise<WebhookEvent> {
  const key = await importKey(secret);
  const [id, sentAt, signatures] = ['id', 'timestamp', 'signature'].map((name) =>
    readHeader(request, `webhook-${name}`),
  ) as [string, string, string];
  // NaN is no time, and fails, too.
  if (!(Math.abs(Date.now() / 1_000 - Number(sentAt)) <= toleranceS))
    throw new WebhookError(`The time of the request differs by more than ${toleranceS} s.`);
  const body = toBytes(request.body);
  const signed = new Uint8Array([...toBytes(`${id}.${sentAt}.`), ...body]);
  const expected = new Uint8Array(await crypto.subtle.sign('HMAC', key, signed));
  for (const one of signatures.split(' ')) {
    const signature = one.startsWith('v1,') ? fromBase64(one.slice(3)) : undefined;
    if (signature !== undefined && isEqual(signature, expected))
      return { ...JSON.parse(new TextDecoder().decode(body)), id };
  }
  throw new WebhookError('No signature of the request is by this secret.');
}

async function importKey(secret: string) {
  const bytes = /^whsec_./.test(secret) ? fromBase64(secret.slice(6)) : undefined;
  if (bytes === undefined) throw new TypeError('The secret does not have the form whsec_….');
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
}

/** Takes as long for bytes that differ early as for bytes that differ late. */
function isEqual(one: Uint8Array, other: Uint8Array): boolean {
  let difference = one.length ^ other.length;
  for (const [i, byte] of other.entries()) difference |= byte ^ (one[i] ?? 0);
  return difference === 0;
}

function readHeader({ headers }: WebhookRequest, name: string): string {
  const value =
    headers instanceof Headers
      ? headers.get(name)
      : Object.entries(headers).find(([one]) => one.toLowerCase() === name)?.[1];
  if (typeof value === 'string' && value !== '') return value;
  throw new WebhookError(`The request has no header ${name}.`);
}

function toBytes(body: string | Uint8Array): Uint8Array {
  if (typeof body === 'string') return new TextEncoder().encode(body);
  if (body instanceof Uint8Array) return body;
  throw new TypeError('The body is to be the text or the bytes that arrived.');
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
