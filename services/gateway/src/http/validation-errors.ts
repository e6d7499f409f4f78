/** Ajv's findings → faults with a pointer each, in words a caller understands. */

import { type Fault, HubError } from '@datahub/service-kit/call/error';
import { originPattern } from '../access/origins.ts';

export interface Finding {
  instancePath: string;
  keyword: string;
  message?: string;
  params: Record<string, unknown>;
}

const faultsMax = 50;
/** A body can hold a million things that do not fit; most are alike, and nobody reads them. */
const findingsMax = 1_000;

/** `isWhole`: false where there may be more faults than were looked for. */
export function toValidationError(findings: Finding[], where: string, { isWhole = true } = {}): HubError {
  const prefix = where === 'body' ? '' : `${where}`;
  const faults = dedupe(findings.slice(0, findingsMax).map((finding) => toFault(finding, prefix)));
  return validationError(faults, isWhole ? '' : ' The body is large, and not all of it was looked at.');
}

/** What is wrong with a request, the first in words; `found` is not empty. */
export function validationError(found: Fault[], remark = ''): HubError {
  const faults = found.slice(0, faultsMax);
  const [first] = faults;
  const more = faults.length > 1 ? `, and ${faults.length - 1} more` : '';
  const at = first?.pointer === '' ? 'The body' : first?.pointer;
  return new HubError('VALIDATION', `${at} ${first?.detail}${more}.${remark}`, { errors: faults });
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
