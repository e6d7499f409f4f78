/** Writes text and parameters for PostgreSQL: one numbered placeholder per name, cast to the declared type. */

import { type BoundValue, type Declaration, toScalar, UsedCharacters, type Value } from '../values.ts';
import type { Numbering } from './apart.ts';
import type { Source } from './source.ts';
import { quoteElement, type UntypedValue, untypedValue } from './untyped.ts';

const casts: Record<string, string> = {
  string: 'text',
  integer: 'integer',
  bigint: 'bigint',
  number: 'double precision',
  decimal: 'numeric',
  boolean: 'boolean',
  date: 'date',
  timestamp: 'timestamptz',
  uuid: 'uuid',
  json: 'jsonb',
};

/** What would continue a word, such as the type of a cast. A dollar sign may begin a quote. */
const continuesWord = /^[\w$\u0080-\uffff]/;
/** A subscript, or a comment before one, would become part of the type of a cast. */
const mayBeSubscript = /\s*(?:\[|--|\/\*)/y;
const endsInWord = /[\w$\u0080-\uffff]$/;

/** The number in `FETCH FIRST :n ROWS ONLY` is no expression, unless it is in parentheses. */
const fetchCharacters = 40;
const endsInFetch = /\bFETCH\s+(?:FIRST|NEXT)\s*$/i;

/** Writes `= ANY` or `<> ALL` for a list, and for the NULL of a variable that is declared as a list. */
export function writePostgres(
  { text, placeholders, declarations }: Source,
  values: Value[],
  { numbers, casts: ownCasts }: Partial<Numbering> = {},
): string {
  const pieces: string[] = [];
  let at = 0;
  for (const [n, { variable, start, end, list }] of placeholders.entries()) {
    const declaration = declarations[variable] as Declaration;
    const isList = list?.size === 1 && isListValue(declaration, values[variable]);
    const cast = ownCasts?.[n] ?? castOf(declaration, values[variable]);
    const number = numbers?.[n] ?? variable + 1;
    mayBeSubscript.lastIndex = end;
    const isCounted = () => endsInFetch.test(text.slice(Math.max(0, start - fetchCharacters), start));
    const inParentheses = cast !== '' && (mayBeSubscript.test(text) || isCounted());
    const placeholder = inParentheses ? `($${number}${cast})` : `$${number}${cast}`;
    const before = text.slice(at, isList ? list.from : start);
    pieces.push(before);
    if (isList) pieces.push(`${list.not ? '<> ALL' : '= ANY'} (`);
    // In `LIMIT:n`, the dollar sign would become part of the word, so a space is added.
    else if (endsInWord.test(before === '' ? (pieces.at(-2) ?? '') : before)) pieces.push(' ');
    pieces.push(placeholder);
    at = end;
    if (continuesWord.test(text.charAt(at))) pieces.push(' ');
  }
  return pieces.join('') + text.slice(at);
}

/** A document of the type `json` is no list, whatever it is. */
const isListValue = ({ type, isList }: Declaration, value: Value | undefined): boolean =>
  isList || (Array.isArray(value) && type !== 'json');

/** Values without a type are bound as JSON until their type is known. */
export function postgresParams({ declarations, uses }: Source, values: Value[]): BoundValue[] {
  // The server gets a value once, but may read it in each place.
  const used = new UsedCharacters();
  return values.map((value, i) => {
    const { type } = declarations[i] as Declaration;
    const bound =
      Array.isArray(value) && type !== undefined && type !== 'json'
        ? toArrayLiteral(value, type)
        : toScalar(value, type);
    if (typeof bound === 'string') used.add(bound.length * (uses[i] ?? 1));
    return bound;
  });
}

/** Undefined if there are none. */
export function postgresUntyped({ declarations }: Source, values: Value[]): UntypedValue[] | undefined {
  let untyped: UntypedValue[] | undefined;
  for (let i = 0; i < values.length; i++) {
    const { name, type } = declarations[i] as Declaration;
    const found = type === undefined ? untypedValue(i, name, values[i] as Value) : undefined;
    if (found === undefined) continue;
    untyped ??= [];
    untyped.push(found);
  }
  return untyped;
}

/** True if `writePostgres` writes a cast after the placeholder. */
export const isCast = (declaration: Declaration | undefined): boolean =>
  declaration !== undefined && castOf(declaration, undefined) !== '';

function castOf(declaration: Declaration, value: Value | undefined): string {
  const { elementType } = declaration;
  if (elementType === undefined) return '';
  const array = isListValue(declaration, value);
  const cast = casts[elementType];
  return cast === undefined ? '' : `::${cast}${array ? '[]' : ''}`;
}

/** Returns an array in PostgreSQL's notation, with every element except NULL in quotes. */
function toArrayLiteral(values: Value[], type: string | undefined): string {
  const elements = values.map((value) => {
    if (value === null) return 'NULL';
    if (Array.isArray(value) && type !== 'json[]') return toArrayLiteral(value, type);
    return quoteElement(String(toScalar(value, type)));
  });
  return `{${elements.join(',')}}`;
}
