/**
 * Metabase's field filters: `{{created}}` stands for a condition on a column, or for nothing if it has no value. The
 * condition is written out, with variables whose default is null.
 */

import { writeExact } from '../exact-numbers.ts';
import { numberOf } from './literals.ts';
import { fieldIdOf } from './metabase-export.ts';
import type { Dialect } from './outline.ts';
import { isRecord, type Loose } from './read-export.ts';
import { Refusal } from './text-conversion.ts';
import type { Traits, Variables } from './variables.ts';

export interface FieldFilter {
  condition: string;
  absent: string;
}

interface Setting {
  dialect: Dialect;
  fields: Map<string, Loose>;
  variables: Variables;
  note(detail: string): void;
}

type Tag = Loose;

export function createFieldFilter(tag: Tag, setting: Setting): FieldFilter {
  const { column, kind } = columnOf(tag, setting);
  const widget = String(tag['widget-type'] ?? 'category');
  const operator = widget.split('/')[1] ?? '=';
  if (/^date\//.test(widget)) return dateFilter(tag, { column, ...setting });
  if (['between', '>=', '<='].includes(operator))
    return rangeFilter(tag, { column, operator, kind, ...setting });
  if (operator !== '=' && operator !== '!=' && widget.includes('/') && !/^location\//.test(widget))
    throw new Refusal(`The field filter {{${tag.name}}} is of the kind ${widget}. Write its condition out.`);
  return listFilter(tag, { column, kind, isNot: operator === '!=', ...setting });
}

interface Column {
  column: string;
  /** What its base type says, if the export has it. */
  kind?: 'integer' | 'decimal' | 'string' | undefined;
}

/** As Metabase writes it, or the alias that the question gives it. */
function columnOf(tag: Tag, { fields, dialect }: Setting): Column {
  const kind = kindOf(tag);
  if (typeof tag.alias === 'string' && tag.alias !== '') return { column: tag.alias, kind };
  const id = fieldIdOf(tag);
  const field = Array.isArray(id) ? undefined : fields.get(String(id));
  const parts = Array.isArray(id)
    ? id.slice(1)
    : [field?.schema ?? field?.table?.schema, field?.table?.name ?? field?.table_name, field?.name];
  const names = parts.filter((part: unknown) => typeof part === 'string' && part !== '');
  const [table, name] = names.slice(-2);
  if (table === undefined || name === undefined)
    throw new Refusal(
      `The column of the field filter {{${tag.name}}} is not in the export. Write its condition out.`,
    );
  const mark = dialect === 'postgres' ? '"' : '`';
  const quoted = (dialect === 'postgres' ? names : [table, name]).map(
    (part: string) => mark + part.replaceAll(mark, mark + mark) + mark,
  );
  return { column: quoted.join('.'), kind: kind ?? kindOfBase(field?.base_type) };
}

function kindOf({ dimension, 'widget-type': widget = '' }: Tag): Column['kind'] {
  const options = Array.isArray(dimension) ? dimension.slice(1).find(isRecord) : undefined;
  const isText = /^(?:string|location)/.test(String(widget));
  return isText ? 'string' : kindOfBase(options?.['base-type'] ?? options?.['effective-type']);
}

const kindOfBase = (type: unknown): Column['kind'] => {
  const name = String(type ?? '').replace('type/', '');
  if (name === 'Integer') return 'integer';
  if (/^(?:BigInteger|Decimal)$/.test(name)) return 'decimal';
  return /^(?:Text|Category|TextLike)$/.test(name) ? 'string' : undefined;
};

type Use = Setting & Column;

const defaultOf = (value: unknown): unknown =>
  value === undefined || value === '' || (Array.isArray(value) && value.length === 0) ? null : value;

function use(tag: Tag, traits: Traits, { variables }: Setting): string {
  return variables.use(tag.name, { ...traits, ...describe(tag) });
}

const describe = ({ 'display-name': title, name }: Tag) =>
  typeof title === 'string' && title.toLowerCase() !== String(name).toLowerCase().replaceAll('_', ' ')
    ? { description: title }
    : {};

/** Metabase keeps defaults of numbers as texts, too. */
const typedDefault = (value: unknown, kind: Column['kind']): unknown =>
  value === null || kind === undefined ? value : kind === 'string' ? String(value) : numberOf(value).value;

/** A list has no type, so PostgreSQL infers that of the column. */
function listFilter(tag: Tag, { column, kind, isNot, ...setting }: Use & { isNot: boolean }): FieldFilter {
  const given = defaultOf(tag.default);
  const value = given === null ? null : [given].flat().map((one) => typedDefault(one, kind));
  const type = kind === undefined ? {} : { type: `${kind}[]` };
  const variable = use(tag, { ...type, value }, setting);
  const absent = `${variable} IS NULL`;
  // Metabase's "is not" finds rows without a value, too.
  const condition = isNot
    ? `${column} NOT IN (${variable}) OR ${column} IS NULL`
    : `${column} IN (${variable})`;
  return { condition: `(${condition} OR ${absent})`, absent };
}

function rangeFilter(
  tag: Tag,
  { column, operator, kind, ...setting }: Use & { operator: string },
): FieldFilter {
  const type = kind === undefined || kind === 'string' ? ('decimal' as const) : kind;
  const list: unknown[] = tag.default === undefined || tag.default === null ? [] : [tag.default].flat();
  const given = list.map((one) => typedDefault(one, type));
  if (operator !== 'between') {
    const variable = use(tag, { type, value: given[0] ?? null }, setting);
    return {
      condition: `(${column} ${operator} ${variable} OR ${variable} IS NULL)`,
      absent: `${variable} IS NULL`,
    };
  }
  const [from, to] = bounds(tag, { type, values: given, ...setting });
  return ofBounds(`${column} >= ${from}`, `${column} <= ${to}`, { from, to });
}

/** From a day to a day, both included. */
function dateFilter(tag: Tag, { column, ...setting }: Use): FieldFilter {
  const { dialect, note } = setting;
  const given = defaultOf(tag.default);
  const day = String.raw`(\d{4}-\d\d-\d\d)`;
  const [, one, first, last] = new RegExp(`^(?:${day}|${day}?~${day}?)$`).exec(String(given ?? '~')) ?? [];
  const isConstant = given === null || one !== undefined || first !== undefined || last !== undefined;
  const name = String(tag.name);
  if (!isConstant)
    note(
      `The default ${writeExact(given)} of ${name} is computed by Metabase. Here it has none, so pass the days.`,
    );
  note(`The field filter ${name} has two variables here: from a day, and to a day, both included.`);
  const [from, to] = bounds(tag, { type: 'date', values: [one ?? first, one ?? last], ...setting });
  const next = dialect === 'postgres' ? `${to} + 1` : `${to} + INTERVAL 1 DAY`;
  return ofBounds(`${column} >= ${from}`, `${column} < ${next}`, { from, to });
}

function bounds(
  tag: Tag,
  { type, values, variables }: { type: Traits['type']; values: unknown[]; variables: Variables },
): [string, string] {
  const [from, to] = (['from', 'to'] as const).map((end, i) =>
    // No tag has a blank in its name.
    variables.use(`${tag.name} ${end}`, { type, value: values[i] ?? null }),
  );
  return [from as string, to as string];
}

const ofBounds = (lower: string, upper: string, { from, to }: { from: string; to: string }): FieldFilter => ({
  condition: `((${lower} OR ${from} IS NULL) AND (${upper} OR ${to} IS NULL))`,
  absent: `(${from} IS NULL AND ${to} IS NULL)`,
});
