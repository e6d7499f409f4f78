/** The places of a body's schema, in each of which a payload is sent. */

interface Schema {
  properties?: Record<string, Schema>;
  items?: Schema;
}

export type Path = (string | number)[];

/** The path of every member that the schema declares, of one it does not, and of the body itself. */
export function spotsOf(schema: object): Path[] {
  return [[], ['unknown'], ...inner(schema, [])];
}

function inner({ properties = {}, items }: Schema, path: Path): Path[] {
  const elements = items === undefined ? [] : [[...path, 0], ...inner(items, [...path, 0])];
  const members = Object.entries(properties).flatMap(([name, schema]) => {
    const at = [...path, name];
    return [at, ...inner(schema, at)];
  });
  return [...elements, ...members];
}

const mark = 'the place of the payload';

/** The JSON of the base with the payload, which is JSON, in a place. */
export function bodyWith(base: unknown, path: Path, payload: string): string {
  return JSON.stringify(put(base, path)).replace(`"${mark}"`, () => payload);
}

function put(base: unknown, [name, ...rest]: Path): unknown {
  if (name === undefined) return mark;
  const value = (base as Record<string | number, unknown> | undefined)?.[name];
  if (typeof name === 'number') return [put(value, rest)];
  return { ...(base as object), [name]: put(value, rest) };
}
