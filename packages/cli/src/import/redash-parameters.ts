/**
 * Redash's parameters → variables. Redash puts their values into the text as they are, so whether a value is a text or a
 * number depends on the quotes around it, and a parameter without quotes can be any SQL.
 */

import { numberOf, refuseDivision, withDefault } from './literals.ts';
import type { Dialect } from './outline.ts';
import { isRecord } from './read-export.ts';
import { Refusal, refusePosition, type Slot } from './text-conversion.ts';
import { type Traits, Variables } from './variables.ts';

interface Parameter {
  name: string;
  title?: string;
  type?: string;
  value?: unknown;
  enumOptions?: string;
  multiValuesOptions?: { prefix?: string; suffix?: string; separator?: string } | null;
}

interface Setting {
  dialect: Dialect;
  note(detail: string): void;
  /** The text so far, without quotes. */
  words(): string;
}

export interface Parameters {
  fill(slot: Slot): string;
  context(): ReturnType<Variables['context']>;
}

export function createParameters(declared: Parameter[], setting: Setting): Parameters {
  const variables = new Variables();
  const byName = new Map(declared.map((one) => [one.name, one]));
  /** Whether MySQL has a number where the parameter stands. */
  const isNumberAt = new Map<string, boolean>();
  return {
    context: () => variables.context(),
    fill: (slot) => {
      const { name } = slot;
      if (name === '%%') return name;
      if (/^[#^/!>&=]/.test(name) || name === '')
        throw new Refusal(`{{${name}}} is a section of Mustache. Write the text without it.`);
      const [, base = name, member] = /^(.*)\.(start|end)$/.exec(name) ?? [];
      const parameter = byName.get(base) ?? byName.get(name) ?? { name };
      refusePosition(slot);
      const traits = traitsOf(parameter, { ...setting, slot, member });
      const isNumber = /^(?:integer|decimal)/.test(traits.type ?? '');
      if (setting.dialect === 'mysql' && (isNumberAt.get(name) ?? isNumber) !== isNumber)
        throw new Refusal(
          `{{${name}}} is a number without quotes and a text with them, which MySQL compares in different ways. Write two parameters.`,
        );
      isNumberAt.set(name, isNumber);
      return variables.use(name, traits);
    },
  };
}

interface Use extends Setting {
  slot: Slot;
  member: string | undefined;
}

function traitsOf(parameter: Parameter, use: Use): Traits {
  const { title, type = 'text' } = parameter;
  const description = title !== undefined && title !== parameter.name ? { description: title } : {};
  const isTime = /^(?:date|datetime)/.test(type);
  const traits = isTime
    ? timeOf(parameter, use)
    : type === 'number'
      ? numeric(parameter, use)
      : textual(parameter, use);
  return { ...traits, ...description };
}

function timeOf({ type = '', value }: Parameter, { slot, member, note, dialect }: Use): Traits {
  if (slot.quoted === undefined)
    throw new Refusal('A date without quotes is a subtraction. Write quotes around it.');
  const one = isRecord(value) ? value[member ?? ''] : value;
  const isConstant = typeof one === 'string' && /^\d{4}-/.test(one);
  if (!isConstant && typeof value === 'string' && value.startsWith('d_'))
    note(
      `The default ${value} of the variable ${slot.name} is computed by Redash. The variable is required here.`,
    );
  const isDate = type === 'date' || type === 'date-range';
  // In other places PostgreSQL gives it the type that it gives the literal.
  const isCompared =
    slot.quoted === 'alone' && /(?:[<>=]|\b(?:between|and|date|timestamp))\s*$/i.test(slot.before);
  const declared =
    slot.quoted === 'part' ? 'string' : isCompared ? (isDate ? 'date' : 'timestamp') : undefined;
  const fallback = dialect === 'mysql' ? 'string' : undefined;
  const kind = declared ?? fallback;
  return withDefault(kind === undefined ? {} : { type: kind }, isConstant ? one : undefined);
}

function numeric({ value }: Parameter, { slot, dialect, words }: Use): Traits {
  const { type, value: fallback } = numberOf(value);
  if (slot.quoted === 'alone')
    return withDefault(quotedType(dialect), fallback === undefined ? undefined : String(fallback));
  refuseDivision(type, { words: words() + slot.rest, dialect });
  return withDefault({ type }, fallback);
}

/** PostgreSQL infers the type of a literal in quotes from its place, and that of a variable without a type, too. */
const quotedType = (dialect: Dialect): Traits => (dialect === 'mysql' ? { type: 'string' } : {});

function textual(parameter: Parameter, use: Use): Traits {
  const { slot, dialect, note } = use;
  const { type = 'text', enumOptions, multiValuesOptions, value } = parameter;
  const options =
    type === 'enum'
      ? String(enumOptions ?? '')
          .split('\n')
          .filter((one) => one !== '')
      : [];
  if (type === 'query') note(`The values of ${slot.name} came from another query. They are not listed here.`);
  if (isRecord(multiValuesOptions)) return list(parameter, options, use);
  const fallback = Array.isArray(value) ? value[0] : value;
  const given = fallback === null || fallback === '' ? undefined : fallback;
  if (slot.quoted !== undefined) {
    const traits = slot.quoted === 'part' ? { type: 'string' as const } : quotedType(dialect);
    return withDefault(withEnum(traits, options), given === undefined ? undefined : String(given));
  }
  if (typeof given === 'string' && given.includes(',') && /\bin\s*\(\s*$/i.test(slot.before))
    return list({ ...parameter, value: given.split(','), multiValuesOptions: {} }, options, use);
  const literals = [...options, ...(given === undefined ? [] : [String(given)])].map(readLiteral);
  const wanted = commonType(literals.map((one) => one?.type));
  if (literals.length > 0 && wanted === undefined)
    throw new Refusal(
      `The value of {{${slot.name}}} is SQL, which no value can be. Write quotes around it if it is a text.`,
    );
  if (wanted === 'decimal') refuseDivision(wanted, { words: use.words() + slot.rest, dialect });
  const values = literals.map((one) => one?.value);
  const traits = wanted === undefined ? {} : { type: wanted };
  return withDefault(
    withEnum(traits, values.slice(0, options.length)),
    given === undefined ? undefined : values.at(-1),
  );
}

function list({ value, multiValuesOptions }: Parameter, options: string[], { slot, dialect }: Use): Traits {
  const { prefix = '', suffix = '', separator = ',' } = multiValuesOptions ?? {};
  const isIn = /\bin\s*\(\s*$/i.test(slot.before) && /^\s*\)/.test(slot.rest);
  const quote = prefix === suffix ? prefix : '?';
  const isText = quote === "'" || (quote === '"' && dialect === 'mysql');
  if (!isIn || slot.quoted !== undefined || separator.trim() !== ',' || (!isText && quote !== ''))
    throw new Refusal(
      `{{${slot.name}}} has several values, which are possible in IN ({{${slot.name}}}) with single quotes or none.`,
    );
  const given =
    value === null || value === undefined || value === '' ? undefined : [value].flat().map(String);
  if (isText) {
    const traits: Traits = dialect === 'mysql' ? { type: 'string[]' } : {};
    return withDefault(withEnum(traits, options), given);
  }
  const literals = [...options, ...(given ?? [])].map(readLiteral);
  const type = commonType(literals.map((one) => one?.type));
  if (literals.length > 0 && type === undefined)
    throw new Refusal(`The values of {{${slot.name}}} are SQL, which no value can be.`);
  const values = literals.map((one) => one?.value);
  const traits = type === undefined ? {} : { type: `${type}[]` };
  return withDefault(
    withEnum(traits, values.slice(0, options.length)),
    given === undefined ? undefined : values.slice(options.length),
  );
}

const withEnum = (traits: Traits, options: unknown[]): Traits =>
  options.length === 0 ? traits : ({ ...traits, enum: options } as Traits);

/** A number, or a text in single quotes without a quote in it. */
function readLiteral(sql: string): { type: 'integer' | 'decimal' | 'string'; value: unknown } | undefined {
  const text = /^'([^'\\]*)'$/.exec(sql.trim())?.[1];
  if (text !== undefined) return { type: 'string', value: text };
  return /^-?\d+(?:\.\d+)?$/.test(sql.trim())
    ? (numberOf(sql) as { type: 'integer' | 'decimal'; value: unknown })
    : undefined;
}

function commonType(types: (string | undefined)[]): string | undefined {
  const kinds = new Set(types);
  if (kinds.size === 1) return [...kinds][0];
  return kinds.size === 2 && kinds.has('integer') && kinds.has('decimal') ? 'decimal' : undefined;
}
