/** Metabase's template tags → variables, conditions of field filters, and the texts of snippets and other questions. */

import { writeExact } from '../exact-numbers.ts';
import { numberOf, refuseDivision, withDefault } from './literals.ts';
import { createFieldFilter, type FieldFilter } from './metabase-filters.ts';
import type { Dialect } from './outline.ts';
import type { Loose } from './read-export.ts';
import { namesOutside, Refusal, refusePosition, type Slot } from './text-conversion.ts';
import { type Traits, Variables } from './variables.ts';

export type Tag = Loose;

export interface TagSetting {
  source: string;
  dialect: Dialect;
  fields: Map<string, Loose>;
  parts: { card(tag: string): string; snippet(tag: string): string };
  note(detail: string): void;
  words(): string;
}

export function createTags(tags: Record<string, Tag>, setting: TagSetting) {
  const variables = new Variables();
  const outside = namesOutside(setting.source, setting.dialect);
  const filters = new Map<string, FieldFilter>();
  const filterOf = (name: string, tag: Tag): FieldFilter => {
    const filter = filters.get(name) ?? createFieldFilter(tag, { ...setting, variables });
    filters.set(name, filter);
    return filter;
  };
  const tagOf = (name: string): Tag => tags[name] ?? tags[name.toLowerCase()] ?? { name, type: 'text' };
  const isText = (name: string): boolean => /^(?:#|snippet:)/.test(name);
  const fill = (slot: Slot): string => {
    const { name, quoted } = slot;
    if (name === '%%') return name;
    if (quoted === undefined && isText(name))
      return name.startsWith('#') ? setting.parts.card(name) : setting.parts.snippet(name);
    const tag = tagOf(name);
    if (tag.type === 'dimension') {
      if (quoted !== undefined) throw new Refusal(`The field filter {{${name}}} is in quotes.`);
      return filterOf(name, tag).condition;
    }
    const presence = outside.has(name) ? ('required' as const) : ('optional' as const);
    return variables.use(name, traitsOf({ ...tag, name }, { ...setting, slot, presence }));
  };
  const absent = (name: string): string | undefined => {
    const tag = tagOf(name);
    if (tag.type === 'dimension') return filterOf(name, tag).absent;
    return outside.has(name) || isText(name) ? undefined : `${variables.use(name)} IS NULL`;
  };
  return { fill, absent, context: () => variables.context() };
}

interface Use extends TagSetting {
  slot: Slot;
  presence: 'required' | 'optional';
}

function traitsOf(tag: Tag, use: Use): Traits {
  const { slot, presence } = use;
  const { type, default: given, 'display-name': title, name } = tag;
  if (type !== 'boolean' || slot.position !== 'condition') refusePosition(slot);
  if (slot.quoted !== undefined && type !== 'number')
    throw new Refusal(`Metabase puts quotes around {{${name}}} itself, so it is none of a text in quotes.`);
  const description =
    typeof title === 'string' && title.toLowerCase() !== String(name).toLowerCase().replaceAll('_', ' ')
      ? { description: title }
      : {};
  const fallback = given === null || given === '' ? undefined : given;
  const { value, ...traits } = typed(tag, fallback, use) as Traits & { value?: unknown };
  if (presence === 'optional') return { ...traits, ...description, value: value ?? null } as Traits;
  return {
    ...withDefault(traits, value),
    ...description,
    ...(tag.required === true ? { required: true } : {}),
  } as Traits;
}

/** The type, and the value of the default. */
function typed({ type, name }: Tag, given: unknown, { slot, dialect, words }: Use): object {
  const one = Array.isArray(given) && given.length === 1 ? given[0] : given;
  const isList = slot.quoted === undefined && /\bin\s*\(\s*$/i.test(slot.before) && /^\s*\)/.test(slot.rest);
  switch (type) {
    case 'text':
      if (given === undefined) return { type: 'string' };
      if (!Array.isArray(one)) return { type: 'string', value: String(one) };
      if (isList) return { type: 'string[]', value: one.map(String) };
      throw new Refusal(`{{${name}}} has several values, which are possible in IN ({{${name}}}).`);
    case 'boolean':
      return given === undefined
        ? { type: 'boolean' }
        : { type: 'boolean', value: one === true || one === 'true' };
    case 'date': {
      if (one !== undefined && !/^\d{4}-\d\d-\d\d$/.test(String(one)))
        throw new Refusal(`The default ${writeExact(one)} of {{${name}}} is computed by Metabase.`);
      return one === undefined ? { type: 'date' } : { type: 'date', value: one };
    }
    case 'number': {
      const values = [given ?? []].flat().flatMap((part) => String(part).split(','));
      const numbers = values.map((part) => numberOf(part.trim()));
      if (isList) {
        const element = numbers.some((part) => part.type === 'decimal') ? 'decimal' : 'integer';
        const list = numbers.map((part) => part.value);
        return { type: `${element}[]`, ...(given === undefined ? {} : { value: list }) };
      }
      if (numbers.length > 1)
        throw new Refusal(`{{${name}}} has several values, which are possible in IN ({{${name}}}).`);
      const { type: kind, value } = numbers[0] ?? { type: 'integer' as const };
      if (slot.quoted === 'alone') throw new Refusal(`Write {{${name}}} without quotes.`);
      refuseDivision(kind, { words: words() + slot.rest, dialect });
      return value === undefined ? { type: kind } : { type: kind, value };
    }
    default:
      throw new Refusal(
        `{{${name}}} is of the kind ${type}, which no value can be. Write the text for one of its values.`,
      );
  }
}
