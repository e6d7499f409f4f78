/** Ids of the shape `<namespace>.<kind>.<random>`. */

import { createHash, randomFillSync } from 'node:crypto';

export const idKinds = ['hub', 'src', 'q', 'hrt', 'acct', 'clfr', 'clfc', 'key', 'evt'] as const;
export type IdKind = (typeof idKinds)[number];

/** Crockford's base 32 in lower case: its order as text is its order as a number. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';

export type CreateId = (kind: IdKind, atMs: number) => string;

/**
 * Makes ids that sort by the time they are given: 48 bits of milliseconds, 20 bits that count up within a millisecond,
 * 80 bits of randomness from the system, 30 characters in all.
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

/** An id that everybody makes alike of the same moment and seed (10 bytes or more), and that sorts by the moment. */
export function createFixedId(
  { namespace, kind, atMs }: { namespace: string; kind: IdKind; atMs: number },
  seed: Buffer,
): string {
  const value = (BigInt(atMs) << 100n) | BigInt(`0x${seed.toString('hex', 0, 10)}`);
  return `${namespace}.${kind}.${encode(value, 30)}`;
}

/** The id that an operation makes, however often it is carried out; undefined without one. See `CallContext.operation`. */
export function operationIdOf(
  { namespace, kind }: { namespace: string; kind: IdKind },
  operation: string | undefined,
): string | undefined {
  const [, atMs, id = ''] = /^(\d{1,14}):(.+)$/.exec(operation ?? '') ?? [];
  if (atMs === undefined) return undefined;
  const seed = createHash('sha256').update(id).digest();
  return createFixedId({ namespace, kind, atMs: Number(atMs) }, seed);
}

function encode(value: bigint, length: number): string {
  const characters = new Array<string>(length);
  let rest = value;
  for (let i = length - 1; i >= 0; i--) {
    characters[i] = alphabet[Number(rest & 31n)] as string;
    rest >>= 5n;
  }
  return characters.join('');
}
