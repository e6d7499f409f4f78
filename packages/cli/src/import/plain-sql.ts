/**
 * Plain SQL → the text and variables of a query. The placeholders of drivers, Redash and Metabase become variables. What
 * cannot be one, such as the name of a table, is a misfit: the file is not converted.
 */

import type { EngineName } from '@datahub/contract/engines';
import type { VariableType } from '@datahub/contract/variable-types';
import type { QueryModel } from '../files/model.ts';
import { commandOf } from './outline.ts';
import {
  type Misfit,
  namesOutside,
  Refusal,
  refusePosition,
  type Slot,
  TextConversion,
} from './text-conversion.ts';
import { type Traits, Variables } from './variables.ts';

export interface Converted {
  text: string;
  command: string;
  context: QueryModel['context'];
}

const placeholders: Record<'postgres' | 'mysql', string> = {
  postgres: String.raw`(?<!\w)(?<number>\$\d+\b)|(?<![\w@<])(?<at>@[A-Za-z_]\w*)`,
  mysql: String.raw`(?<mark>\?)`,
};
const inBoth = String.raw`(?<python>%\([A-Za-z_]\w*\)s)|(?<positional>%s\b)|(?<![:\w])(?<colon>:[A-Za-z_]\w*)`;

/** The casts whose type is that of the variable. */
const castTypes: Readonly<Record<string, VariableType>> = {
  ...{ int: 'integer', integer: 'integer', int4: 'integer', bigint: 'bigint', int8: 'bigint' },
  ...{ text: 'string', varchar: 'string', numeric: 'decimal', decimal: 'decimal', float8: 'number' },
  ...{ date: 'date', timestamptz: 'timestamp', uuid: 'uuid', bool: 'boolean', boolean: 'boolean' },
  ...{ json: 'json', jsonb: 'json' },
};

/** The type of a variable that a cast stands behind, as in `$1::int[]`. */
export function typeOfCast(rest: string): Traits['type'] {
  const cast = /^::(\w+)((?:\[\])?)(?!\w)/.exec(rest);
  const base = castTypes[cast?.[1]?.toLowerCase() ?? ''];
  if (base === undefined) return undefined;
  return cast?.[2] === '[]' ? `${base}[]` : base;
}

/** Returns the misfits if there are any. */
export function convertSql(source: string, engine: EngineName): Converted | Misfit[] {
  const dialect = engine === 'postgres' ? 'postgres' : 'mysql';
  const variables = new Variables();
  const isPython = /%\([A-Za-z_]\w*\)s/.test(source);
  const outside = namesOutside(source, dialect);
  let marks = 0;
  const use = (name: string, { quoted, rest }: Slot) => {
    // Alone in quotes, it has the type that the database expects. In a longer text it is one.
    const type = quoted === 'part' ? 'string' : typeOfCast(rest);
    const presence = outside.has(name) ? { required: true } : { value: null };
    return variables.use(name, { ...(type === undefined ? {} : { type }), ...presence });
  };
  const conversion = new TextConversion(source, {
    dialect,
    hasBraces: true,
    hasOptionalParts: true,
    doublesPercent: isPython,
    placeholders: `${inBoth}|${placeholders[dialect]}`,
    fill: (slot) => {
      const { name } = slot;
      if (name === '%%') return isPython ? '%' : '%%';
      if (name === '%s') throw new Refusal('Give %s a name, as in %(name)s.');
      if (name === '?') return required(variables, `p${++marks}`, slot);
      const driver = /^(?:\$(?<number>\d+)|%\((?<python>\w+)\)s|[@:](?<plain>\w+))$/.exec(name)?.groups;
      if (driver !== undefined)
        return required(
          variables,
          driver.number ? `p${driver.number}` : (driver.python ?? driver.plain ?? ''),
          slot,
        );
      return use(nameOf(slot), slot);
    },
    absent: (name) => (outside.has(name) ? undefined : `${variables.use(name)} IS NULL`),
  });
  const text = conversion.convert().trim();
  if (conversion.words.trim() === '') conversion.refuse(0, 'The file has no statement.');
  if (conversion.misfits.length > 0) return conversion.misfits;
  return { text, command: commandOf(conversion.words), context: variables.context() };
}

function required(variables: Variables, name: string, { rest }: Slot): string {
  const type = typeOfCast(rest);
  return variables.use(name, { ...(type === undefined ? {} : { type }), required: true });
}

function nameOf({ name, position }: Slot): string {
  if (!/^[A-Za-z][\w .]*$/.test(name))
    throw new Refusal(`{{${name}}} is no variable. Write the part into the text, or make it a view.`);
  refusePosition({ name, position });
  return name;
}
