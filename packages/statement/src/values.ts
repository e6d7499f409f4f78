/** Resolves the values of variables, from the key's pinned values, the call's context and the defaults in this order, and checks their types. */

import { mayLoseDigits, rawJSON } from '@datahub/contract/exact-json';
import { parseWith } from '@datahub/contract/json-text';
import { cutText, listElementsMax } from '@datahub/contract/limits';
import { describeFaults, type FieldFault, faultsMax, fieldName } from '@datahub/contract/validation-error';
import type { Variable } from '@datahub/proto/catalog/v1/catalog';
import { HubError } from '@datahub/service-kit/call/error';
import { canonicalNumber, int64Of, wholeDigits } from './exact-number.ts';
import { canonicalTimestamp, isDay, isMoment } from './timestamps.ts';

/** A number that a double cannot hold exactly. */
export class ExactNumber {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }

  toJSON(): unknown {
    return rawJSON(this.text);
  }
}

export type Value = string | number | boolean | null | ExactNumber | Value[] | { [key: string]: Value };

/** True if every engine reads the double back as it was written. With more digits JavaScript does, and others do not. */
function isExact(value: number, source: string): boolean {
  if (String(value) !== source) return false;
  return Number.isSafeInteger(value) || source.replace(/\D/g, '').length <= 15;
}

/** Parses JSON and keeps every digit. Throws what `JSON.parse` throws. */
export function parseValue(text: string): Value {
  if (!mayLoseDigits(text)) return JSON.parse(text);
  return parseWith(text, (digits) => {
    const number = Number(digits);
    return isExact(number, digits) ? number : new ExactNumber(digits);
  }) as Value;
}

/** JSON text of a value, with every digit. */
export const toJsonText = (value: Value): string => JSON.stringify(value);

/** A value to bind. Decimals are passed as digits, only to engines that infer the type from the value. */
export type BoundValue = string | number | bigint | boolean | null | { readonly decimal: string };

/** Converts objects, arrays and declared JSON to JSON text, so that no driver treats them as a list or an operator. */
export function toScalar(value: Value, type: string | undefined): BoundValue {
  if (value === null) return null;
  if (type === 'json' || type === 'json[]') return toJsonText(value);
  // 1.0 and 1e3 are whole numbers in JSON, but databases do not accept them as integers.
  if (value instanceof ExactNumber) {
    if (type?.startsWith('integer')) return Number(value.text) + 0;
    return type?.startsWith('bigint') ? wholeDigits(value.text) : value.text;
  }
  return typeof value === 'object' ? toJsonText(value) : value;
}

/** A declared variable, compiled once for a definition. */
export interface Declaration {
  name: string;
  type: string | undefined;
  /** The type of an element of a list, else the type. */
  elementType: string | undefined;
  /** True if the type is that of a list. */
  isList: boolean;
  fallback: Value | undefined;
  /** False: null if no value is given. True: null is rejected. */
  required: boolean | undefined;
  /** The allowed values, as `valueKey` writes them. */
  allowed: Set<string> | undefined;
}

export function declare(name: string, variable: Variable | undefined): Declaration {
  const allowed = variable?.enumJson === undefined ? undefined : (parseValue(variable.enumJson) as Value[]);
  const type = variable?.type;
  const isList = type?.endsWith('[]') === true;
  const elementType = isList ? type.slice(0, -2) : type;
  return {
    name,
    type,
    elementType,
    isList,
    fallback: variable?.valueJson === undefined ? undefined : parseValue(variable.valueJson),
    required: variable?.required,
    allowed: allowed && new Set(allowed.map((value) => valueKey(value, elementType))),
  };
}

/** The same text for values that are equal in the type of their variable. Without a type, each digit counts. */
export function valueKey(value: Value, type: string | undefined): string {
  const isText = typeof value === 'string';
  switch (type) {
    case 'json':
      return documentKey(value);
    case 'bigint':
    case 'decimal':
      return (isText || isNumeric(value) ? numberKey(value) : undefined) ?? toJsonText(value);
    case 'integer':
    case 'number':
      return (isNumeric(value) ? numberKey(value) : undefined) ?? toJsonText(value);
    case 'uuid':
      return isText ? value.toLowerCase() : toJsonText(value);
    case 'timestamp':
      return isText ? canonicalTimestamp(value) : toJsonText(value);
    default:
      return toJsonText(value);
  }
}

const numberKey = (value: Value) =>
  canonicalNumber(value instanceof ExactNumber ? value.text : String(value));

/** The order of the members does not count. */
function documentKey(value: Value): string {
  if (isNumeric(value)) return numberKey(value) ?? toJsonText(value);
  if (Array.isArray(value)) return `[${value.map(documentKey).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${documentKey(member)}`).join(',')}}`;
}

export interface Given {
  pinnedJson: string;
  contextJson: string;
  /** Pinned variables whose single value is a list of one if they are declared as a list. */
  scalarsAsLists?: readonly string[] | undefined;
  /** True if names that are no variables of the query are faults. */
  strict?: boolean | undefined;
  /** Called with such names if they are no faults. */
  onUnknown?: ((names: string[]) => void) | undefined;
}

/**
 * One value for each declaration, in order. `known` are all names that the query uses or declares. Throws CONTEXT_INVALID
 * with a fault for each variable that is missing or invalid.
 */
export function resolveValues(
  declarations: readonly Declaration[],
  { pinnedJson, contextJson, scalarsAsLists, strict, onUnknown }: Given,
  known: ReadonlySet<string> = new Set(declarations.map(({ name }) => name)),
): Value[] {
  const pinned = parseGiven(pinnedJson);
  const context = parseGiven(contextJson);
  const faults: FieldFault[] = [];
  const values: Value[] = [];
  let found = 0;
  // Two calls and an object for each variable would take as long as the checks.
  for (let i = 0; i < declarations.length; i++) {
    const declaration = declarations[i] as Declaration;
    const { name } = declaration;
    const isInContext = context !== undefined && Object.hasOwn(context, name);
    if (isInContext) found++;
    let value: Value | undefined;
    if (pinned !== undefined && Object.hasOwn(pinned, name)) value = pinned[name];
    else value = isInContext ? context[name] : fallbackOf(declaration);
    if (scalarsAsLists?.includes(name)) value = asList(declaration, value);
    const detail = value === undefined ? 'is missing' : faultOf(declaration, value);
    if (detail !== undefined) faults.push({ path: ['context', name], detail });
    values.push(value ?? null);
  }
  const names = Object.keys(context ?? {});
  const unknown = names.length === found ? [] : names.filter((name) => !known.has(name));
  if (strict) {
    for (const name of unknown.slice(0, faultsMax))
      faults.push({ path: ['context', shortened(name)], detail: 'is not a variable of this query' });
  } else if (unknown.length > 0) onUnknown?.(unknown);
  if (faults.length === 0) return values;
  throw contextInvalid(faults);
}

/** The name comes from the caller, so it is cut to keep the answer small. */
const shortened = (name: string): string => cutText(name, 100).toWellFormed();

export function contextInvalid(faults: FieldFault[]): HubError {
  return new HubError(
    'CONTEXT_INVALID',
    describeFaults(faults, ({ path }) => fieldName(path)),
    {
      errors: faults,
      stage: 'prepare',
      retryable: false,
    },
  );
}

/** The gateway always sends an object, but other clients of the executor may send any text. */
function parseGiven(text: string): Record<string, Value> | undefined {
  if (text === '') return undefined;
  if (text.trimStart().startsWith('{')) {
    try {
      return parseValue(text) as Record<string, Value>;
    } catch {
      // Falls through to our own message: the parser's quotes parts of the text.
    }
  }
  throw contextInvalid([{ path: ['context'], detail: 'must be a JSON object' }]);
}

function asList({ isList }: Declaration, value: Value | undefined): Value | undefined {
  const isSingle = value !== undefined && value !== null && !Array.isArray(value);
  return isSingle && isList ? [value] : value;
}

/** The default, which may be null. */
function fallbackOf({ fallback, required }: Declaration): Value | undefined {
  return fallback === undefined && required === false ? null : fallback;
}

/** Why every execution would reject the default of a variable. */
export function faultOfDefault(variable: Variable): string | undefined {
  const declaration = declare(variable.key, variable);
  const { fallback } = declaration;
  return fallback === undefined || fallback === null ? undefined : faultOf(declaration, fallback);
}

/** What is wrong with a value. It never contains the value. */
function faultOf({ elementType, isList, required, allowed }: Declaration, value: Value): string | undefined {
  if (value === null) return required === true ? 'must not be null' : undefined;
  if (Array.isArray(value) && value.length > listElementsMax)
    return `must have at most ${listElementsMax} elements`;
  if (elementType !== undefined) {
    const fault = isList ? faultOfList(elementType, value) : faultOfType(elementType, value);
    if (fault !== undefined) return fault;
  }
  if (Array.isArray(value) ? value.some(hasNul) : hasNul(value)) return 'must not contain a NUL character';
  if (allowed === undefined) return undefined;
  // A list of the type `json` is one document.
  const members = Array.isArray(value) && (isList || elementType !== 'json') ? value : [value];
  if (members.every((member) => allowed.has(valueKey(member, elementType)))) return undefined;
  return 'must be one of the values that the query allows';
}

const hasNul = (value: Value): boolean => typeof value === 'string' && value.includes('\0');

function faultOfList(type: string, value: Value): string | undefined {
  if (!Array.isArray(value)) return `must be an array of ${type}`;
  const invalid = value.findIndex((member) => member !== null && faultOfType(type, member) !== undefined);
  return invalid < 0 ? undefined : `must be an array of ${type}; element ${invalid} is not`;
}

const matching = (pattern: RegExp) => (text: string) => pattern.test(text);

const rules: Record<string, { fits: (text: string) => boolean; must: string }> = {
  bigint: { fits: matching(/^-?\d{1,19}$/), must: 'must be a whole number of at most 19 digits' },
  decimal: { fits: matching(/^-?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?$/), must: 'must be a decimal number' },
  date: { fits: isDay, must: 'must be a date that exists, such as 2026-11-20' },
  timestamp: {
    fits: isMoment,
    must: 'must be a timestamp that exists, in the years 1 to 9999, such as 2026-11-20T13:04:05.123Z',
  },
  uuid: { fits: matching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i), must: 'must be a UUID' },
};

function faultOfType(type: string, value: Value): string | undefined {
  switch (type) {
    case 'json':
      return undefined;
    case 'string':
      return typeof value === 'string' ? undefined : 'must be a string';
    case 'boolean':
      return typeof value === 'boolean' ? undefined : 'must be true or false';
    case 'number':
      return typeof value === 'number' || value instanceof ExactNumber ? undefined : 'must be a number';
    case 'integer':
      return isInteger(value) ? undefined : 'must be a whole number from -2147483648 to 2147483647';
    default: {
      const rule = rules[type];
      const isText =
        typeof value === 'string' || ((type === 'bigint' || type === 'decimal') && isNumeric(value));
      // Called for primitives only: `toString` of a caller's object need not be a function.
      const fits = () => rule?.fits(String(toScalar(value, type)));
      return rule === undefined || (isText && fits()) ? undefined : rule.must;
    }
  }
}

const isNumeric = (value: Value) => typeof value === 'number' || value instanceof ExactNumber;

function isInteger(value: Value): boolean {
  // A double rounds 1e-400 to a whole number.
  const number = value instanceof ExactNumber ? int64Of(value.text) : value;
  return Number.isInteger(number) && Math.abs(number as number) <= 2_147_483_648 && number !== 2_147_483_648;
}

/** Counts the characters of values in all places where a statement uses them. */
export class UsedCharacters {
  #left: number;
  readonly #max: number;

  constructor(max = usedCharactersMax) {
    this.#left = max;
    this.#max = max;
  }

  /** Throws TOO_LARGE beyond the most. */
  add(characters: number): void {
    this.#left -= characters;
    if (this.#left >= 0) return;
    throw new HubError(
      'TOO_LARGE',
      `The values have more than ${this.#max} characters in all the places where the statement uses them. Use a large value in fewer places, in SQL for example by a WITH clause.`,
      { stage: 'prepare', retryable: false },
    );
  }
}

/** As many as MySQL takes in one command. */
const usedCharactersMax = 16_777_216;
