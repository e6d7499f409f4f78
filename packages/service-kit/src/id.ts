/** Ids of the form `<namespace>.<kind>.<random>`. */

import { createHash, randomFillSync } from 'node:crypto';

export const idKinds = [
  'hub',
  'src',
  'q',
  'hrt',
  'acct',
  'clfr',
  'clfc',
  'key',
  'evt',
  'job',
  'wtch',
  'wrun',
  'dest',
  'dlv',
  'qrun',
  'prsn',
  'sess',
  'grnt',
  'brd',
  'clnt',
  'agnt',
] as const;
export type IdKind = (typeof idKinds)[number];

/** Crockford's base 32 in lower case, which sorts as text in the same order as the number. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';

export type CreateId = (kind: IdKind, atMs: number) => string;

/**
 * Creates ids that sort by time: 48 bits of milliseconds, a 20-bit counter within the millisecond, and 80 random bits,
 * as 30 characters.
 */
export function createIdFactory(options: { namespace: string }): CreateId {
  const random = Buffer.alloc(10);
  let lastMs = 0;
  let counter = 0;
  return (kind, atMs) => {
    counter = atMs === lastMs ? counter + 1 : 0;
    lastMs = atMs;
    randomFillSync(random);
    const value = (BigInt(atMs) << 100n) | (BigInt(counter) << 80n) | BigInt(`0x${random.toString('hex')}`);
    return `${options.namespace}.${kind}.${encode(value, 30)}`;
  };
}

/** Returns an id derived from a time and a seed of at least 10 bytes. It sorts by the time. */
export function createFixedId(
  { namespace, kind, atMs }: { namespace: string; kind: IdKind; atMs: number },
  seed: Buffer,
): string {
  const value = (BigInt(atMs) << 100n) | BigInt(`0x${seed.toString('hex', 0, 10)}`);
  return `${namespace}.${kind}.${encode(value, 30)}`;
}

/** Returns the id of the resource that an operation creates, the same in every attempt. See `CallContext.operation`. */
export function operationIdOf(
  { namespace, kind }: { namespace: string; kind: IdKind },
  operation: string | undefined,
): string | undefined {
  const [, atMs, id = ''] = /^(\d{1,14}):(.+)$/.exec(operation ?? '') ?? [];
  if (atMs === undefined) return undefined;
  const seed = createHash('sha256').update(id).digest();
  return createFixedId({ namespace, kind, atMs: Number(atMs) }, seed);
}

/** Returns the time by which an id sorts, in milliseconds. */
export function timeOfId(id: string): number {
  // Ten characters are the 48 bits above the counter and the random ones.
  const characters = id.slice(id.lastIndexOf('.') + 1).slice(0, 10);
  return [...characters].reduce((ms, character) => ms * 32 + alphabet.indexOf(character), 0);
}

/** True if the text has the form of an id of this kind, of any namespace. */
export const isIdOf = (kind: IdKind, text: string): boolean => text.split('.').at(-2) === kind;

function encode(value: bigint, length: number): string {
  const characters = new Array<string>(length);
  let rest = value;
  for (let i = length - 1; i >= 0; i--) {
    characters[i] = alphabet[Number(rest & 31n)] as string;
    rest >>= 5n;
  }
  return characters.join('');
}
