/**
 * The values of a query in a link: `region=north&ids=1&ids=2`. A name alone is null, and twice alone an empty list.
 * Values of variables that are marked secret never get there.
 */

import { toText } from '../api/exact.ts';
import { isListed, ownOf, type Value, type Values, type VariableField } from './variables.ts';

type Field = Pick<VariableField, 'key' | 'secret' | 'enum' | 'list'>;

export function toAddress(fields: readonly Field[], values: Values): string {
  return fields
    .filter(({ secret }) => secret !== true)
    .flatMap((field) => {
      const name = encodeURIComponent(field.key);
      const value = ownOf(values, field.key);
      if (value === undefined) return [];
      if (value.kind === 'null') return [name];
      if (value.kind === 'list' && value.items.length === 0) return [name, name];
      if (value.kind === 'list') return value.items.map((item) => `${name}=${encodeURIComponent(item)}`);
      return [`${name}=${encodeURIComponent(chosenText(field, value.text))}`];
    })
    .join('&');
}

/** Servers and programs cut or refuse longer addresses; the hub's limit is 16 KiB for all headers. */
export const addressMax = 8_000;

/** The values for a link, and the names of those that have no room in one. */
export function toLink(fields: readonly Field[], values: Values): { query: string; leftOut: string[] } {
  const leftOut: string[] = [];
  let query = '';
  for (const field of fields) {
    const part = toAddress([field], values);
    const next = [query, part].filter((one) => one !== '').join('&');
    if (next.length <= addressMax) query = next;
    else leftOut.push(field.key);
  }
  return { query, leftOut };
}

/** Names that are no variables, or secret ones, are left out. */
export function fromAddress(text: string, fields: readonly Field[]): Values {
  const given = membersOf(text);
  const values = fields.flatMap((field): [string, Value][] => {
    const found = given.get(field.key);
    return found === undefined || field.secret === true ? [] : [[field.key, valueFrom(found, field)]];
  });
  return Object.fromEntries(values);
}

/** The values of each name in the order of the address; null for a name alone. */
export function membersOf(text: string): Map<string, (string | null)[]> {
  const members = new Map<string, (string | null)[]>();
  for (const part of text.split('&').filter((one) => one !== '')) {
    const at = part.indexOf('=');
    const name = decoded(at < 0 ? part : part.slice(0, at));
    const value = at < 0 ? null : decoded(part.slice(at + 1));
    members.set(name, [...(members.get(name) ?? []), value]);
  }
  return members;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

function valueFrom(found: (string | null)[], field: Field): Value {
  const texts = found.filter((one) => one !== null);
  const [first] = texts;
  if (first === undefined) return found.length > 1 ? { kind: 'list', items: [] } : { kind: 'null' };
  if (field.list || texts.length > 1) return { kind: 'list', items: texts };
  const chosen = field.enum?.find((choice) => toText(choice) === first);
  return { kind: 'text', text: chosen === undefined ? first : JSON.stringify(chosen) };
}

/** Choices are JSON in the form, and as a person reads them in the address. */
const chosenText = (field: Field, text: string): string =>
  isListed(field) ? toText(field.enum?.find((choice) => JSON.stringify(choice) === text) ?? text) : text;
