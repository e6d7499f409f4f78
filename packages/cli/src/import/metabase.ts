/** Metabase's questions in SQL → queries of a hub. */

import type { EngineName } from '@datahub/contract/engines';
import { engineOf, type FoundSource, type Imported } from './imported.ts';
import { type MetabaseExport, type Native, nativeOf } from './metabase-export.ts';
import { createTags } from './metabase-tags.ts';
import { commandOf, type Dialect } from './outline.ts';
import type { Converted } from './plain-sql.ts';
import type { Loose } from './read-export.ts';
import { type Misfit, Refusal, TextConversion } from './text-conversion.ts';

export function importMetabase(found: MetabaseExport, into: Imported, engine: EngineName | undefined): void {
  for (const { file, card, lineOf } of found.cards) {
    const label = String(card.name ?? '').trim() || file;
    const native = nativeOf(card);
    if (card.archived === true) into.refuse(file, 'The question is archived.');
    else if (native === undefined)
      into.refuse(file, 'It was made in the query builder. Convert it to SQL there ("View the SQL").');
    else {
      const line = lineOf(native.text);
      const source = toFoundSource(found.databases.get(String(native.database)), {
        id: native.database,
        engine,
      });
      into.add({ file, label, folder: folderOf(card.collection_id, found), source }, (of, note) =>
        convertCard(native, { found, dialect: of === 'postgres' ? 'postgres' : 'mysql', note, line }),
      );
    }
  }
}

function toFoundSource(
  database: Loose | undefined,
  { id, engine }: { id: unknown; engine: EngineName | undefined },
): FoundSource {
  const { name, details } = database ?? {};
  const port = Number(details?.port);
  const label = String(name ?? (typeof id === 'string' ? id : `Database ${id ?? ''}`)).trim();
  return {
    id: database?.id ?? id,
    label,
    engine: database?.engine === undefined ? (engine ?? 'postgres') : engineOf(String(database.engine)),
    host: details?.host || undefined,
    port: Number.isInteger(port) && port > 0 ? port : undefined,
    database: details?.dbname || details?.db || undefined,
    needsTls: details?.ssl === true,
  };
}

/** The names of the collections down to the one of the question. */
function folderOf(id: unknown, { collections }: MetabaseExport): string[] {
  const collection = collections.get(String(id ?? ''));
  if (collection === undefined) return [];
  const parents =
    typeof collection.location === 'string'
      ? collection.location
          .split('/')
          .filter((part: string) => part !== '')
          .map((part: string) => collections.get(part)?.name ?? part)
      : collection.parent_id === undefined || collection.parent_id === collection.entity_id
        ? []
        : folderOf(collection.parent_id, { collections } as MetabaseExport);
  return [...parents, String(collection.name)];
}

interface Setting {
  found: MetabaseExport;
  dialect: Dialect;
  note(detail: string): void;
  /** The line of the file in which the text begins. */
  line: number;
}

function convertCard(native: Native, { found, dialect, note, line }: Setting): Converted | Misfit[] {
  const { text, tags } = native;
  const parts = {
    card: (tag: string) => textOfCard(tag, native, found),
    snippet: (tag: string) => textOfSnippet(tag, found),
  };
  const filled = createTags(tags, {
    source: text,
    dialect,
    note,
    fields: found.fields,
    parts,
    words: () => conversion.words,
  });
  const conversion: TextConversion = new TextConversion(text, {
    dialect,
    hasBraces: true,
    keepsColumnNames: true,
    hasOptionalParts: true,
    fill: filled.fill,
    absent: filled.absent,
  });
  const converted = conversion.convert().trim();
  if (conversion.words.trim() === '') conversion.refuse(0, 'The question has no statement.');
  if (conversion.misfits.length > 0)
    return conversion.misfits.map((misfit) => ({ ...misfit, line: misfit.line + line - 1 }));
  return { text: converted, command: commandOf(conversion.words), context: filled.context() };
}

/** `{{#12-orders}}` is the text of question 12, if it has no variables. */
function textOfCard(tag: string, { tags, database }: Native, { cards }: MetabaseExport): string {
  const id = tags[tag]?.['card-id'] ?? /^#(\d+)/.exec(tag)?.[1];
  const isIt = ({ card }: MetabaseExport['cards'][number]) =>
    String(card.id) === String(id) || card.entity_id === id;
  const card = id === undefined ? undefined : cards.find(isIt)?.card;
  const native = card && nativeOf(card);
  if (native !== undefined && String(native.database) !== String(database))
    throw new Refusal(`{{${tag}}} is a question of another database. Make it a query of its own.`);
  if (native === undefined)
    throw new Refusal(
      `{{${tag}}} is a question that is not in the export, or has no SQL. Make it a view, or write its text here.`,
    );
  if (native.text.includes('{{'))
    throw new Refusal(`{{${tag}}} is a question with variables. Write its text here.`);
  return `(\n${native.text.trim().replace(/;\s*$/, '')}\n)`;
}

function textOfSnippet(tag: string, { snippets }: MetabaseExport): string {
  const name = tag.replace(/^snippet:\s*/, '');
  const content = snippets.get(name)?.content;
  if (typeof content !== 'string') throw new Refusal(`The snippet ${name} is not in the export.`);
  if (content.includes('{{')) throw new Refusal(`The snippet ${name} has variables. Write its text here.`);
  return `${content}\n`;
}
