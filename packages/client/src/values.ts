/** Values of variables on their way to the hub. */

/** What JSON can hold. */
export type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

/** A value of a variable. A `bigint` keeps all digits. */
export type Value = Json | bigint | readonly Value[] | { readonly [name: string]: Value };

/** Values of variables whose names and types are not known. */
export type Values = { readonly [name: string]: Value | undefined };

/** Newer than the libraries of Node 20. */
const { isRawJSON } = JSON as { isRawJSON?: (value: unknown) => boolean };

/** The members that are not undefined. */
export const given = <T>(members: Readonly<Record<string, T | undefined>>) =>
  Object.entries(members).filter((member): member is [string, T] => member[1] !== undefined);

/** JSON text, in which a `bigint` is a number. What `JSON.stringify` would turn into null, such as NaN, is refused. */
export function toJson(value: unknown, name = ''): string {
  if (typeof value === 'bigint') return `${value}`;
  const written = value as { toJSON?: (name: string) => unknown } | null | undefined;
  const plain = written?.toJSON ? written.toJSON(name) : value;
  if (Array.isArray(plain)) return `[${Array.from(plain, (member) => toJson(member, name))}]`;
  if (typeof plain === 'object' && plain !== null && !isRawJSON?.(plain)) {
    return `{${given(plain as Values).map(([key, member]) => `${JSON.stringify(key)}:${toJson(member, key)}`)}}`;
  }
  const text = JSON.stringify(plain) ?? 'null';
  if (text === 'null' && value !== null) throw new TypeError(`${name}: ${value} is no value.`);
  return text;
}

/** The query string of a read. Members that are undefined are left out. */
export function toForm(values: Values): string {
  const form = new URLSearchParams();
  for (const [name, value] of given(values)) {
    const list = Array.isArray(value) ? value : [value];
    if (list.length === 0 || list.includes(null)) {
      throw new TypeError(`${name}: a URL holds neither null nor an empty list. Use execute.`);
    }
    for (const member of list) {
      const text = toJson(member, name);
      form.append(name, text[0] === '"' ? JSON.parse(text) : text);
    }
  }
  return form.size === 0 ? '' : `?${form}`;
}
