/** Ajv's findings → faults with a pointer each, in words a caller understands. */

import { describeFaults, type FieldPath, fieldName } from '@datahub/contract/validation-error';
import { HubError } from '@datahub/service-kit/call/error';
import { originPattern } from '../access/origins.ts';

export interface Finding {
  instancePath: string;
  keyword: string;
  message?: string;
  params: Record<string, unknown>;
}

/** One fault of an HTTP request; `pointer` is a JSON Pointer into the body, or `query/name`, `header/name`. */
export interface Fault {
  pointer: string;
  detail: string;
}

/** What the gateway itself finds wrong with a request. */
export class RequestError extends HubError {
  readonly faults: readonly Fault[];

  constructor(message: string, faults: readonly Fault[], cause?: unknown) {
    super('VALIDATION', message, { cause });
    this.faults = faults;
  }
}

/**
 * Where the body holds the fields of a call, for those that stand elsewhere than in the call: pointers by field names,
 * such as `{ top: '/options/top' }`. A name may have two parts, `examples.0`.
 */
export type FieldPointers = Readonly<Record<string, string>>;

const namePartsMax = 2;

/** An error's text and faults with pointers into the body, where a service names fields of its call. */
export function inBody(
  err: HubError,
  pointers: FieldPointers = {},
): { message: string; faults?: readonly Fault[] } {
  if (err instanceof RequestError) return err;
  const { message, errors } = err;
  if (errors === undefined) return { message };
  const faults = errors.map(({ path, detail }) => ({ pointer: toPointer(path, pointers), detail }));
  const name = fieldName(errors[0]?.path ?? []);
  if (!message.startsWith(name)) return { message, faults };
  return { message: nameOf(faults[0]) + message.slice(name.length), faults };
}

const nameOf = (fault: Fault | undefined): string => fault?.pointer || 'The body';

function toPointer(path: FieldPath, pointers: FieldPointers): string {
  for (let length = Math.min(namePartsMax, path.length); length > 0; length--) {
    const name = path.slice(0, length).join('.');
    const pointer = Object.hasOwn(pointers, name) ? pointers[name] : undefined;
    if (pointer !== undefined) return addTo(pointer, path.slice(length));
  }
  return addTo('', path);
}

const addTo = (pointer: string, path: FieldPath): string =>
  path.reduce<string>((above, name) => pointerTo(above, String(name)), pointer);

const faultsMax = 50;
/** A body can hold a million things that do not fit; most are alike, and nobody reads them. */
const findingsMax = 1_000;

/** `isWhole`: false where there may be more faults than were looked for. */
export function toValidationError(findings: Finding[], where: string, { isWhole = true } = {}): RequestError {
  const prefix = where === 'body' ? '' : `${where}`;
  const faults = dedupe(findings.slice(0, findingsMax).map((finding) => toFault(finding, prefix)));
  return validationError(faults, isWhole ? '' : ' The body is large, and not all of it was looked at.');
}

/** What is wrong with a request, the first in words; `found` is not empty. */
export function validationError(found: Fault[], remark = ''): RequestError {
  const faults = found.slice(0, faultsMax);
  return new RequestError(`${describeFaults(faults, nameOf)}${remark}`, faults);
}

export interface ItemRule {
  fits(item: unknown): boolean;
  /** Of an item that does not fit; at least one. */
  faultsOf(item: unknown, pointer: string): Fault[];
}

/**
 * Looks at a long list by hand, as far as faults are told. The validator notes every one: a body of some megabytes can
 * hold millions, which cost seconds and a gigabyte.
 */
export function requireItems(list: readonly unknown[], pointer: string, { fits, faultsOf }: ItemRule): void {
  const faults: Fault[] = [];
  for (let i = 0; i < list.length && faults.length < faultsMax; i++) {
    if (!fits(list[i])) faults.push(...faultsOf(list[i], `${pointer}/${i}`));
  }
  if (faults.length > 0) throw validationError(faults);
}

export const texts: ItemRule = {
  fits: (item) => typeof item === 'string',
  faultsOf: (_item, pointer) => [{ pointer, detail: 'must be a string' }],
};

function toFault({ instancePath, keyword, message, params }: Finding, prefix: string): Fault {
  const at = `${prefix}${instancePath}`;
  if (keyword === 'required') return { pointer: `${at}/${params.missingProperty}`, detail: 'is missing' };
  if (keyword === 'additionalProperties') {
    return {
      pointer: pointerTo(at, String(params.additionalProperty)),
      detail: 'is not known here',
    };
  }
  const words = inWords[keyword]?.(params);
  return { pointer: at, detail: words ?? message ?? 'does not fit' };
}

/** What a text must be where its schema has a pattern. */
const patternWords = new Map<unknown, string>([
  [originPattern, 'must be an origin such as https://shop.example, without a path or a slash at its end'],
]);

const types = new Map([
  ['array', 'an array'],
  ['boolean', 'true or false'],
  ['integer', 'a whole number'],
  ['null', 'null'],
  ['number', 'a number'],
  ['object', 'an object'],
  ['string', 'a string'],
]);

const counted = (limit: unknown, what: string) => `${limit} ${what}${limit === 1 ? '' : 's'}`;

const inWords: Record<string, (params: Record<string, unknown>) => string | undefined> = {
  enum: ({ allowedValues }) => `must be one of ${(allowedValues as unknown[]).join(', ')}`,
  maxItems: ({ limit }) => `must have at most ${counted(limit, 'element')}`,
  maxLength: ({ limit }) => `must have at most ${counted(limit, 'character')}`,
  maximum: ({ limit }) => `must be at most ${limit}`,
  minItems: ({ limit }) => `must have at least ${counted(limit, 'element')}`,
  minLength: ({ limit }) => `must have at least ${counted(limit, 'character')}`,
  minimum: ({ limit }) => `must be at least ${limit}`,
  pattern: ({ pattern }) => patternWords.get(pattern),
  type: ({ type }) => {
    const names = ([type].flat() as string[]).map((name) => types.get(name) ?? name);
    return `must be ${names.join(' or ')}`;
  },
};

/** RFC 6901; a member's name is the caller's own, shortened so that the answer stays small. */
export function pointerTo(at: string, name: string): string {
  return `${at}/${name.slice(0, 100).toWellFormed().replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

function dedupe(faults: Fault[]): Fault[] {
  const seen = new Set<string>();
  return faults.filter(({ pointer, detail }) => {
    const key = `${pointer} ${detail}`;
    return !seen.has(key) && seen.add(key);
  });
}
