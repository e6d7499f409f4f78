/** The variables of a query, and the conversion of typed values to JSON. */

import { isEngine } from '@datahub/contract/engines';
import { objectOf } from '@datahub/contract/json-text';
import { type Outline, outlineOf } from '@datahub/statement/outline';
import { isJson, toText } from '../api/exact.ts';
import type { Signature, Variable } from '../api/types.ts';
import { isNumericType } from './rows/row-store.ts';
import { isNumberText } from './rows/scan.ts';

export interface VariableField extends Variable {
  /** The declared type, else the one that the source reported. */
  shownType: string;
  list: boolean;
  nullable: boolean;
  /** A run fails without a value. */
  isNeeded: boolean;
}

/** The value of a field. A field without a value is not sent, so that its default applies. */
export type Value =
  | { kind: 'null' }
  | (({ kind: 'text'; text: string } | { kind: 'list'; items: string[] }) & AsSent);

interface AsSent {
  /** What a run was sent, until the value is edited: without a type, "1" and 1 have the same text. */
  json?: string;
}
export type Values = Record<string, Value | undefined>;

/** What a variable has in `all`. Each object inherits a `constructor`, and variables can have that name. */
export const ownOf = <T>(all: Readonly<Record<string, T>>, key: string): T | undefined =>
  Object.hasOwn(all, key) ? all[key] : undefined;

/** Reads an edited text as the hub will. Until its source is known, it is read as PostgreSQL's. */
export const readOutline = ({ text, engine, context }: Omit<Described, 'signature'>): Outline =>
  outlineOf(text, isEngine(engine) ? engine : 'postgres', new Set(context.map(({ key }) => key)));

interface Described {
  text: string;
  engine: string;
  context: Variable[];
  signature: Pick<Signature, 'variables'> | null | undefined;
}

export function fieldsOf({ text, engine, context, signature }: Described): VariableField[] {
  const told = new Map((signature?.variables ?? []).map((one) => [one.key, one]));
  const declared = new Map(context.map((one) => [one.key, one]));
  const outline = readOutline({ text, engine, context });
  const used = new Set(outline.names);
  const names = [...new Set([...used, ...declared.keys()])];
  return names.map((key) => {
    const variable = declared.get(key) ?? { key };
    const source = told.get(key);
    const shownType = variable.type ?? source?.type ?? '';
    const list =
      shownType.endsWith('[]') ||
      source?.list === true ||
      (variable.type === undefined && outline.lists.has(key));
    const isNeeded = used.has(key) && variable.value === undefined && variable.required !== false;
    return { ...variable, shownType, list, nullable: variable.required !== true, isNeeded };
  });
}

/** What a form shows for values that a run was sent. Names that are no fields are left out. */
export function valuesFrom(sent: Readonly<Record<string, unknown>>, fields: VariableField[]): Values {
  const given = fields.filter(({ key }) => Object.hasOwn(sent, key));
  return Object.fromEntries(given.map((field) => [field.key, valueFrom(sent[field.key], field)]));
}

function valueFrom(value: unknown, { enum: allowed, list, shownType }: VariableField): Value {
  if (value === null) return { kind: 'null' };
  const isWhole = isJsonType(shownType) || (allowed !== undefined && !list);
  if (isWhole) return { kind: 'text', text: JSON.stringify(value) };
  const asSent: AsSent = shownType === '' ? { json: JSON.stringify(value) } : {};
  if (Array.isArray(value)) return { kind: 'list', items: value.map(toText), ...asSent };
  return { kind: 'text', text: toText(value), ...asSent };
}

export const elementType = (type: string): string => type.replace(/\[\]$/, '');
export const isJsonType = (type: string): boolean => /^jsonb?$/.test(type);
export const isTimeType = (type: string): boolean => /^(date|time|timestamp|datetime)/.test(type);
export const isBooleanType = (type: string): boolean => /^(bool|boolean)$/.test(type);

const forms: [RegExp, RegExp, string][] = [
  [/^date$/, /^\d{4}-\d{2}-\d{2}$/, 'a date such as 2026-11-20'],
  [/^uuid$/, /^[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$/i, 'a UUID'],
  [/^(tiny|small|medium|big)?(int|integer)\d*$/, /^-?\d+$/, 'a whole number'],
];

/** Returns the JSON of one value, or its fault. */
function jsonOf(text: string, type: string): { json: string } | { fault: string } {
  const form = forms.find(([types]) => types.test(type));
  if (form !== undefined && !form[1].test(text.trim())) return { fault: `Write ${form[2]}.` };
  if (isNumericType(type)) {
    return isNumberText(text.trim())
      ? { json: numberJson(text.trim()) }
      : { fault: 'Write a number such as 12.50.' };
  }
  if (isBooleanType(type)) {
    return /^(true|false)$/.test(text) ? { json: text } : { fault: 'Write true or false.' };
  }
  if (isJsonType(type))
    return isJson(text) ? { json: text } : { fault: 'Write JSON: "a text", 12, [1, 2] or {"a": 1}.' };
  return { json: JSON.stringify(text) };
}

/** Removes leading zeros, which JSON does not allow. */
const numberJson = (text: string): string => text.replace(/^(-?)0+(?=\d)/, '$1');

/** True if only listed values are accepted. */
export const isListed = ({ enum: allowed }: Pick<Variable, 'enum'>): boolean => allowed !== undefined;

export interface Sent {
  /** The `context` of an execution with all digits. */
  context: string;
  members: [string, string][];
  faults: Record<string, string>;
}

export function sentOf(fields: VariableField[], values: Values): Sent {
  const members: [string, string][] = [];
  const faults: Record<string, string> = {};
  for (const field of fields) {
    const { key, isNeeded } = field;
    const result = oneOf(field, ownOf(values, key));
    if (result === undefined) {
      if (isNeeded) faults[key] = 'Give it a value.';
    } else if ('fault' in result) faults[key] = result.fault;
    else members.push([key, result.json]);
  }
  return { context: objectOf(members), members, faults };
}

function oneOf(
  field: VariableField,
  value: Value | undefined,
): { json: string } | { fault: string } | undefined {
  if (value === undefined) return undefined;
  if (value.kind === 'null') return { json: 'null' };
  if (value.json !== undefined) return { json: value.json };
  if (value.kind === 'text') {
    // Choices are JSON already.
    if (field.enum !== undefined) return { json: value.text };
    return jsonOf(value.text, field.shownType);
  }
  const items = value.items.map((item) => {
    const choice = field.enum?.find((one) => toText(one) === item);
    return choice === undefined
      ? jsonOf(item, elementType(field.shownType))
      : { json: JSON.stringify(choice) };
  });
  const fault = items.find((item) => 'fault' in item);
  if (fault !== undefined) return fault;
  return { json: `[${items.map((item) => ('json' in item ? item.json : '')).join(',')}]` };
}

/** Returns a default value for display. */
export const defaultText = ({ value }: Variable): string | undefined =>
  value === undefined ? undefined : toText(value);

const hiddenValue = '(secret)';

/** The values of a run as JSON, without the secret ones. */
export const shownContext = (fields: VariableField[], { members }: Sent): string => {
  const secrets = new Set(fields.filter(({ secret }) => secret).map(({ key }) => key));
  return objectOf(members.map(([key, json]) => [key, secrets.has(key) ? JSON.stringify(hiddenValue) : json]));
};

/** The name and the value of each variable of a run, as JSON; without a value, its default applies. */
export function shownValues(fields: VariableField[], { members }: Sent): [string, string][] {
  const given = new Map(members);
  return fields.map((field) => {
    const fallback = field.value === undefined ? 'no value' : `${JSON.stringify(field.value)} (default)`;
    const shown = given.get(field.key);
    return [field.key, shown === undefined ? fallback : field.secret ? hiddenValue : shown];
  });
}
