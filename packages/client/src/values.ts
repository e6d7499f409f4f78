/** Values of variables on their way to the hub. */

/** What JSON can hold. */
export type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

/** A value of a variable. A `bigint` keeps all digits. */
export type Value = Json | bigint | readonly Value[] | { readonly [name: string]: Value };

/** Values of variables whose names and types are not known. */
export type Values = { readonly [name: string]: Value | undefined };

type RawJson = { rawJSON?: (text: string) => unknown };

/** JSON text. Where the runtime cannot write a large `bigint` as a number, it is a string, which `bigint` variables accept. */
export const toJson = (value: unknown): string =>
  JSON.stringify(value, (_name, member: unknown) => {
    if (typeof member !== 'bigint') return member;
    const { rawJSON } = JSON as RawJson;
    return Number.isSafeInteger(Number(member)) ? Number(member) : (rawJSON?.(`${member}`) ?? `${member}`);
  });

/** The query string of a read. Members that are undefined are left out. */
export function toForm(values: object): string {
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) continue;
    const list = Array.isArray(value) ? value : [value];
    if (list.length === 0 || list.includes(null)) {
      throw new TypeError(`${name}: a URL holds neither null nor an empty list. Use execute.`);
    }
    for (const member of list)
      form.append(name, typeof member === 'object' ? toJson(member) : String(member));
  }
  return form.size === 0 ? '' : `?${form}`;
}
