/** Validates bodies against their schemas and turns violations into faults, each with a JSON Pointer. */

import { Ajv, type ValidateFunction } from 'ajv';
import type { FastifySchemaCompiler } from 'fastify';
import { type Fault, faultsMax, pointerTo, type RequestError, validationError } from './request-error.ts';

/** For JSON Schema: what resembles an origin. `isOrigin` decides. */
export const originPattern = '^https?://[^/?#\\s]+$';

const options = {
  coerceTypes: false,
  removeAdditional: false,
  useDefaults: false,
  addUsedSchema: false,
  allowUnionTypes: true,
} as const;

/**
 * Ajv either stops at the first fault or collects all of them. A large body can have hundreds of thousands, and
 * collecting them takes a second. So the first pass stops at the first fault, and a second pass collects all faults of
 * a sample. The sample of an ordinary body is the whole body.
 */
export function createBodyValidators(): FastifySchemaCompiler<object> {
  const firstFault = new Ajv(options);
  const allFaults = new Ajv({ ...options, allErrors: true });
  return ({ schema }) => {
    // Ajv keeps what it has compiled for a schema. Compiling all schemas at the start would take a fifth of it.
    let validate: ValidateFunction | undefined;
    return (body: unknown) => {
      validate ??= firstFault.compile(schema);
      if (validate(body)) return true;
      const validateAll = allFaults.compile(schema);
      const sample = new Sample(namesIn(schema));
      const first = validate.errors ?? [];
      const found = validateAll(sample.of(body)) ? first : (validateAll.errors ?? first);
      return { error: toValidationError(found as AjvError[], { isWhole: sample.isWhole }) };
    };
  };
}

/** The most elements of each array, and members of each object, in the sample, and of all of them. */
const sampleMax = 100;
const sampledMax = 10_000;

class Sample {
  isWhole = true;
  #sampled = 0;
  readonly #declared: ReadonlySet<string>;

  /** The sample always has the members with these names, so that no present member is reported as missing. */
  constructor(declared: ReadonlySet<string>) {
    this.#declared = declared;
  }

  of(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value;
    if (!Array.isArray(value)) return this.#ofObject(value as Record<string, unknown>);
    const length = this.#take(value.length);
    return value.slice(0, length).map((element) => this.of(element));
  }

  /** How many of these parts the sample gets. */
  #take(count: number): number {
    const taken = Math.min(count, sampleMax, sampledMax - this.#sampled);
    if (taken < count) this.isWhole = false;
    this.#sampled += taken;
    return taken;
  }

  #ofObject(value: Record<string, unknown>): object {
    const all = Object.keys(value);
    const names = new Set(all.slice(0, this.#take(all.length)));
    for (const name of this.#declared) if (Object.hasOwn(value, name)) names.add(name);
    // An assignment to a member named __proto__ would set the prototype.
    return Object.fromEntries([...names].map((name) => [name, this.of(value[name])]));
  }
}

/** The names of all members that a schema declares, at any depth. */
function namesIn(schema: unknown, names = new Set<string>()): Set<string> {
  if (typeof schema !== 'object' || schema === null) return names;
  const { properties } = schema as { properties?: object };
  for (const name of Object.keys(properties ?? {})) names.add(name);
  for (const inner of Object.values(schema)) namesIn(inner, names);
  return names;
}

export interface AjvError {
  instancePath: string;
  keyword: string;
  message?: string;
  params: Record<string, unknown>;
}

/** A body can have a million errors, and most are alike. Only this many are converted. */
const ajvErrorsMax = 1_000;

/** `isWhole` is false if only a part of the body was validated. */
export function toValidationError(errors: AjvError[], { isWhole = true } = {}): RequestError {
  // Ajv reports the keyword `if` in addition to the error of its branch.
  const own = errors.slice(0, ajvErrorsMax).filter(({ keyword }) => keyword !== 'if');
  const faults = dedupe(own.map(toFault));
  return validationError(faults, isWhole ? '' : ' The body is large, and only a part of it was validated.');
}

export interface ItemRule {
  isValid(item: unknown): boolean;
  /** At least one fault of an invalid item. */
  faultsOf(item: unknown, pointer: string): Fault[];
}

/**
 * Validates a long list in the handler, and stops when it has found as many faults as an answer reports. Ajv would
 * collect all of them: a body of some megabytes can have millions, which take seconds and a gigabyte.
 */
export function requireItems(items: readonly unknown[], pointer: string, rule: ItemRule): void {
  const faults: Fault[] = [];
  for (let i = 0; i < items.length && faults.length < faultsMax; i++) {
    if (!rule.isValid(items[i])) faults.push(...rule.faultsOf(items[i], `${pointer}/${i}`));
  }
  if (faults.length > 0) throw validationError(faults);
}

export const texts: ItemRule = {
  isValid: (item) => typeof item === 'string',
  faultsOf: (_item, pointer) => [{ pointer, detail: 'must be a string' }],
};

/** Names the members of `body` that are not in `known`. */
export function unknownMembers(body: object, known: readonly string[], at = ''): Fault[] {
  return Object.keys(body)
    .filter((name) => !known.includes(name))
    .map((name) => unknownMember(at, name));
}

export const unknownMember = (at: string, name: string): Fault => ({
  pointer: pointerTo(at, name),
  detail: 'is an unknown property',
});

function toFault({ instancePath: at, keyword, message, params }: AjvError): Fault {
  if (keyword === 'required') return { pointer: `${at}/${params.missingProperty}`, detail: 'is missing' };
  if (keyword === 'additionalProperties') return unknownMember(at, String(params.additionalProperty));
  return { pointer: at, detail: details[keyword]?.(params) ?? message ?? 'is invalid' };
}

/** Details for texts that do not match the pattern of their schema. */
const patternDetails = new Map<unknown, string>([
  [originPattern, 'must be an origin such as https://shop.example, without a path or a slash at its end'],
]);

const typeNames = new Map([
  ['array', 'an array'],
  ['boolean', 'true or false'],
  ['integer', 'a whole number'],
  ['null', 'null'],
  ['number', 'a number'],
  ['object', 'an object'],
  ['string', 'a string'],
]);

const counted = (limit: unknown, what: string) => `${limit} ${what}${limit === 1 ? '' : 's'}`;

const details: Record<string, (params: Record<string, unknown>) => string | undefined> = {
  enum: ({ allowedValues }) => `must be one of ${(allowedValues as unknown[]).map(String).join(', ')}`,
  maxItems: ({ limit }) => `must have at most ${counted(limit, 'element')}`,
  maxLength: ({ limit }) => `must have at most ${counted(limit, 'character')}`,
  maximum: ({ limit }) => `must be at most ${limit}`,
  minItems: ({ limit }) => `must have at least ${counted(limit, 'element')}`,
  minLength: ({ limit }) => `must have at least ${counted(limit, 'character')}`,
  minimum: ({ limit }) => `must be at least ${limit}`,
  pattern: ({ pattern }) => patternDetails.get(pattern),
  type: ({ type }) => {
    const names = ([type].flat() as string[]).map((name) => typeNames.get(name) ?? name);
    return `must be ${names.join(' or ')}`;
  },
};

function dedupe(faults: Fault[]): Fault[] {
  const seen = new Set<string>();
  return faults.filter(({ pointer, detail }) => {
    const key = `${pointer} ${detail}`;
    return !seen.has(key) && seen.add(key);
  });
}

/** An origin of a web page, as browsers send it: the host in lower case and ASCII, and leave out a default port. */
const shape = /^https?:\/\/([a-z0-9._-]+|\[[0-9a-f:.]+\])(:\d+)?$/;

/** False for what no browser sends, such as a wildcard or an origin with capital letters. */
export const isOrigin = (text: string): boolean => shape.test(text) && URL.parse(text)?.origin === text;

/** The origin that the text probably means, for an error message. */
export function nearestOrigin(text: string): string {
  const { origin } = URL.parse(text) ?? { origin: '' };
  return isOrigin(origin) ? origin : 'https://shop.example';
}

const timestampShape = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/;

/** Throws VALIDATION at the pointer for a text that is no time, or one without a zone. */
export function toInstant(text: string | null | undefined, pointer: string): Date | undefined {
  if (text === undefined || text === null) return undefined;
  const date = new Date(text);
  if (timestampShape.test(text) && !Number.isNaN(date.getTime()) && isOfCalendar(text)) return date;
  const detail = 'must be an ISO 8601 timestamp with a zone, such as 2027-01-31T00:00:00.000Z';
  throw validationError([{ pointer, detail }]);
}

/** False for a date such as February 30, which `Date` turns into a day of March. */
function isOfCalendar(text: string): boolean {
  const day = new Date(`${text.slice(0, 10)}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text.slice(0, 10));
}
