/** The types that are not built in, from the server's catalog. */

import { typesTooDeep } from './errors.ts';
import { isKnownType, type ServerType } from './values.ts';

type Rows = (text: string) => Promise<(string | null)[][]>;

/** The deepest nesting of arrays and domains, far more than real schemas have. */
const typeLevelsMax = 16;

/**
 * Reads those that are not `known`, and adds them. Arrays with another delimiter than a comma stay text. Throws
 * SQL_REJECTED if they nest too deep, also over types that are known: each reader of a value follows all levels.
 */
export async function learnTypes(
  typeIds: readonly number[],
  known: Map<number, ServerType>,
  rows: Rows,
): Promise<void> {
  let level = new Set(typeIds);
  for (let levels = 0; level.size > 0; levels++) {
    if (levels === typeLevelsMax) throw typesTooDeep();
    const unknown = new Set([...level].filter((id) => !known.has(id)));
    if (unknown.size > 0) for (const [id, type] of await readTypes(unknown, rows)) known.set(id, type);
    const types = [...level].flatMap((id) => known.get(id) ?? []);
    const inner = types.flatMap(({ elementId, baseId }) => [elementId, baseId]);
    level = new Set(inner.filter((id) => id !== undefined && !isKnownType(id)) as number[]);
  }
}

async function readTypes(asked: ReadonlySet<number>, rows: Rows): Promise<[number, ServerType][]> {
  const found = await rows(
    `SELECT oid, pg_catalog.format_type(oid, NULL), CASE WHEN typcategory = 'A' AND typdelim = ',' THEN typelem ELSE 0 END, typbasetype, typcategory = 'S' FROM pg_catalog.pg_type WHERE oid IN (${[...asked].join(',')})`,
  );
  return found.flatMap(([oid, name, element, base, isText]): [number, ServerType][] => {
    const id = Number(oid);
    const elementId = Number(element) || undefined;
    const baseId = Number(base) || undefined;
    return asked.has(id) ? [[id, { name: name ?? '', elementId, baseId, isText: isText === 't' }]] : [];
  });
}
