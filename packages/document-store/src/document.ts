import { HubError } from '@datahub/service-kit/call/error';
import type { Shape } from './collection-spec.ts';
import type { Doc, Scalar } from './document-store.ts';
import { documentSizeMax, idLengthMax } from './document-store.ts';

/**
 * A document as adapters store it. `body` is the document as JSON text without counters and bytes. Every store returns
 * text unchanged, with any key (`$eq`, `a.b`, `__proto__`) and any number. The other members are copies for indexes, or
 * values that JSON cannot hold.
 */
export interface Stored {
  id: string;
  accountId: string;
  version: number;
  body: string;
  fields: Scalar[];
  counters: number[];
  bytes: (Uint8Array | null)[];
}

const depthMax = 128;
const idPattern = new RegExp(`^[!-~]{1,${idLengthMax}}$`);
const accountIdPattern = new RegExp(`^[!-.0-~]{1,${idLengthMax}}$`);

/** An invalid id cannot be stored, so a lookup by it finds nothing instead of failing. */
export function isId(id: unknown): id is string {
  return typeof id === 'string' && idPattern.test(id);
}

export function isAccountId(id: unknown): id is string {
  return typeof id === 'string' && accountIdPattern.test(id);
}

export function refuse(detail: string): HubError {
  return new HubError('VALIDATION', `The store cannot hold this document: ${detail}.`);
}

export function encode(shape: Shape, doc: Doc): Stored {
  if (!isId(doc.id)) throw refuse(`an id is 1 to ${idLengthMax} printable ASCII characters`);
  if (!isAccountId(doc.accountId)) throw refuse('an account id is an id without a slash');
  if (!Number.isSafeInteger(doc.version) || doc.version < 1)
    throw refuse('a version is a whole number from 1');
  const source = new Map(Object.entries(doc));
  const counters = shape.counters.map((name) => toCounter(name, source.get(name)));
  const bytes = shape.bytes.map((name) => toBytes(name, source.get(name)));
  for (const name of [...shape.counters, ...shape.bytes]) source.delete(name);
  for (const [name, value] of source) checkValue(value, name, 1);
  const fields = shape.fields.map((name) => toScalar(name, source.get(name)));
  checkUnique(shape, fields);
  const body = JSON.stringify(Object.fromEntries(source));
  checkSize([body, ...fields.map(String)], bytes);
  return { id: doc.id, accountId: doc.accountId, version: doc.version, body, fields, counters, bytes };
}

/** The reverse of `encode`. */
export function decode<T extends Doc>(shape: Shape, stored: Pick<Stored, 'body' | 'counters' | 'bytes'>): T {
  const doc = JSON.parse(stored.body);
  shape.counters.forEach((name, i) => {
    doc[name] = stored.counters[i] ?? 0;
  });
  shape.bytes.forEach((name, i) => {
    const value = stored.bytes[i];
    if (value !== null && value !== undefined) doc[name] = value;
  });
  return doc;
}

/** Filters compare with scalars only, because MongoDB would read an object as an operator. */
export function toScalar(name: string, value: unknown): Scalar {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string' && value.isWellFormed()) return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw refuse(`${name} is indexed and must be well-formed text, a finite number or null`);
}

function toCounter(name: string, value: unknown): number {
  if (value === undefined) return 0;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw refuse(`the counter ${name} must be a finite number`);
}

function toBytes(name: string, value: unknown): Uint8Array | null {
  if (value === undefined || value === null) return null;
  if (value instanceof Uint8Array) return value;
  throw refuse(`${name} must be bytes`);
}

function checkUnique(shape: Shape, fields: Scalar[]): void {
  for (const name of shape.unique) {
    const value = fields[shape.fields.indexOf(name)];
    if (typeof value !== 'string' || value === '') throw refuse(`${name} is unique and must be a text`);
  }
  for (const { field } of shape.uniqueWithin ?? []) {
    const value = fields[shape.fields.indexOf(field)] ?? null;
    if (value !== null && (typeof value !== 'string' || value === ''))
      throw refuse(`${field} is unique and must be a text or null`);
  }
}

/** Indexed fields count twice, because they are stored in the body and as a copy. */
function checkSize(texts: string[], bytes: (Uint8Array | null)[]): void {
  const textSize = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  const size = bytes.reduce((sum, part) => sum + (part?.byteLength ?? 0), textSize);
  if (size <= documentSizeMax) return;
  throw new HubError(
    'TOO_LARGE',
    `The document has ${size} bytes, and the store allows ${documentSizeMax}. Split it into smaller ones.`,
  );
}

/** Throws for values that JSON would change or drop silently. */
function checkValue(value: unknown, path: string, depth: number): void {
  if (typeof value === 'string') {
    if (!value.isWellFormed()) throw refuse(`the text at ${path} has half a surrogate pair`);
  } else if (typeof value === 'number') {
    if (!Number.isFinite(value) || Object.is(value, -0))
      throw refuse(`the number at ${path} is -0 or not finite`);
  } else if (typeof value === 'object' && value !== null) {
    checkMembers(value, path, depth);
  } else if (typeof value !== 'boolean' && value !== null && value !== undefined) {
    throw refuse(`a value of the type ${typeof value} at ${path}`);
  }
}

function checkMembers(value: object, path: string, depth: number): void {
  if (depth > depthMax) throw refuse(`more than ${depthMax} levels of nesting at ${path.slice(0, 100)}`);
  if (Array.isArray(value)) {
    for (const item of value) {
      if (item === undefined) throw refuse(`an undefined element in the list at ${path}`);
      checkValue(item, path, depth + 1);
    }
    return;
  }
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    throw refuse(`the object at ${path} is not plain data`);
  }
  for (const [key, member] of Object.entries(value)) {
    if (!key.isWellFormed()) throw refuse(`a key at ${path} has half a surrogate pair`);
    checkValue(member, path, depth + 1);
  }
}
