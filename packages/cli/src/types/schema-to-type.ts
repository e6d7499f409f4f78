/** Converts JSON Schema to the text of a TypeScript type, for the part of JSON Schema that the hub's documents use. */

import { writeExact } from '../exact-numbers.ts';

export interface Schema {
  type?: string | readonly string[];
  format?: string;
  const?: unknown;
  enum?: readonly unknown[];
  oneOf?: readonly Schema[];
  anyOf?: readonly Schema[];
  $ref?: string;
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  description?: string;
}

export interface TypeOptions {
  /** The indentation of the line with the type. */
  indent?: string;
  /** True for a type that a program sends, so lists may be read-only and large integers a `bigint`. */
  sent?: boolean;
}

export function toType(schema: Schema, options: TypeOptions = {}): string {
  const { $ref, enum: values, oneOf, anyOf, type } = schema;
  if ($ref !== undefined) return $ref.slice($ref.lastIndexOf('/') + 1);
  if ('const' in schema) return toLiteral(schema.const, options);
  if (values !== undefined) return union(values.map((value) => toLiteral(value, options)));
  const choices = oneOf ?? anyOf;
  if (choices !== undefined) return union(choices.map((one) => toType(one, options)));
  if (type === undefined)
    return schema.properties === undefined ? anyOfAll(options) : toObject(schema, options);
  const types = typeof type === 'string' ? [type] : type;
  return union(types.map((one) => toSingle(one, schema, options)));
}

/** Returns the name of the client's type for any JSON. */
const anyOfAll = ({ sent }: TypeOptions): string => (sent ? 'Value' : 'Json');

function toSingle(type: string, schema: Schema, options: TypeOptions): string {
  switch (type) {
    case 'integer':
      return options.sent && schema.format === 'int64' ? 'number | bigint' : 'number';
    case 'array':
      return toArray(toType(schema.items ?? {}, options), options);
    case 'object':
      return toObject(schema, options);
    default:
      return type;
  }
}

function toArray(type: string, { sent }: TypeOptions): string {
  return `${sent ? 'readonly ' : ''}${/^\w+$/.test(type) ? type : `(${type})`}[]`;
}

function toObject(schema: Schema, options: TypeOptions): string {
  const { properties = {}, required = [], additionalProperties } = schema;
  const indent = options.indent ?? '';
  const inner = { ...options, indent: `${indent}  ` };
  const members = Object.entries(properties).map(([name, member]) => {
    const { description } = member;
    const comment = description === undefined ? '' : `${inner.indent}/** ${inComment(description)} */\n`;
    const type = toType(member, inner);
    const rest = required.includes(name) ? `: ${type};` : `?: ${type} | undefined;`;
    return `${comment}${inner.indent}${toName(name)}${rest}\n`;
  });
  const others =
    typeof additionalProperties === 'object' ? toType(additionalProperties, inner) : anyOfAll(options);
  if (members.length > 0) return `{\n${members.join('')}${indent}}`;
  return `Record<string, ${additionalProperties === false ? 'never' : others}>`;
}

/** Joins types without duplicates, in their order. */
const union = (types: readonly string[]): string => [...new Set(types)].join(' | ');

function toLiteral(value: unknown, options: TypeOptions): string {
  if (typeof value !== 'object' || value === null) return toCode(value);
  const json = writeExact(value);
  if (options.sent && isInteger(value)) return `${json}n`;
  return /^[-\d]/.test(json) ? 'number' : anyOfAll(options);
}

/** Also an integer that `parseExact` keeps as an object, because a double does not hold it. */
export const isInteger = (value: unknown): boolean => /^(0|-?[1-9]\d*)$/.test(writeExact(value));

/**
 * JSON is valid TypeScript. Angle brackets and line separators are escaped, in case the text is inserted into a page.
 */
export const toCode = (value: unknown): string =>
  writeExact(value).replaceAll(
    /[<>\u2028\u2029]/g,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** Returns the name of a member, in quotes if it is no identifier. */
const toName = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : toCode(name));

export const onOneLine = (text: string): string =>
  text.replaceAll(/\s+/g, ' ').replaceAll(/\p{C}/gu, '').trim();

/** Escapes a text for a one-line comment, so that it cannot end the comment. */
export const inComment = (text: string): string => onOneLine(text).replaceAll('*/', '*\\/');
