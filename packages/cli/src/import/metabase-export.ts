/** Reads Metabase's questions and what they refer to: from its serialization in YAML, from JSON, or from its API. */

import { type Api, type ExportFile, isRecord, type Loose, parseExport } from './read-export.ts';

type Part = Loose;

export interface MetabaseExport {
  cards: { file: string; card: Part; lineOf(text: string): number }[];
  /** Each by its id, its entity_id and, for databases, its name. */
  collections: Map<string, Part>;
  databases: Map<string, Part>;
  snippets: Map<string, Part>;
  fields: Map<string, Part>;
}

export async function readMetabaseApi(api: Api): Promise<MetabaseExport> {
  const found = emptyExport();
  const list = (answer: Part | Part[]): Part[] => (Array.isArray(answer) ? answer : (answer.data ?? []));
  const cards = list(await api.get('api/card?f=all'));
  addAll(found.collections, list(await api.get('api/collection')));
  addAll(found.databases, list(await api.get('api/database')));
  addAll(found.snippets, list(await api.get('api/native-query-snippet')));
  const ids = new Set(cards.flatMap((card) => Object.values(nativeOf(card)?.tags ?? {}).map(fieldIdOf)));
  for (const id of ids)
    if (typeof id === 'number')
      addAll(found.fields, [await api.get(`api/field/${id}`).catch(() => ({ id, name: undefined }))]);
  found.cards = cards.map((card) => ({ file: `question ${card.id}`, card, lineOf: () => 1 }));
  return found;
}

export function readMetabaseFiles(files: ExportFile[]): MetabaseExport {
  const found = emptyExport();
  for (const file of files) {
    if (/\.ya?ml$/i.test(file.name)) addYaml(found, file);
    else addJson(found, file);
  }
  return found;
}

const emptyExport = (): MetabaseExport => ({
  cards: [],
  collections: new Map(),
  databases: new Map(),
  snippets: new Map(),
  fields: new Map(),
});

function addAll(to: Map<string, Part>, parts: Part[]): void {
  for (const part of parts)
    for (const key of [part.id, part.entity_id, part.name])
      if (key !== undefined && key !== null) to.set(String(key), part);
}

function addYaml(found: MetabaseExport, file: ExportFile): void {
  const part = parseExport(file) as Part | null;
  const model = Array.isArray(part?.['serdes/meta']) ? part?.['serdes/meta'].at(-1)?.model : undefined;
  if (!isRecord(part)) return;
  if (model === 'Card' || part.dataset_query !== undefined) {
    const lines = file.text.split('\n');
    const lineOf = (text: string) => {
      const first =
        text
          .split('\n')
          .find((line) => line.trim() !== '')
          ?.trim() ?? '';
      return Math.max(1, lines.findIndex((line) => line.includes(first)) + 1);
    };
    found.cards.push({ file: file.name, card: part, lineOf });
  } else if (model === 'Collection') addAll(found.collections, [part]);
  else if (model === 'Database') addAll(found.databases, [part]);
  else if (model === 'NativeQuerySnippet') addAll(found.snippets, [part]);
  else if (model === 'Field') addAll(found.fields, [part]);
}

/** Answers of the API: a list of questions, or `{cards, collections, databases, snippets, fields}`. */
function addJson(found: MetabaseExport, file: ExportFile): void {
  const json = parseExport(file);
  const parts = isRecord(json) && json.dataset_query === undefined ? json : { cards: [json].flat() };
  for (const card of (parts.cards ?? parts.data ?? []) as unknown[])
    if (isRecord(card) && card.dataset_query !== undefined)
      found.cards.push({ file: `${file.name}#${card.id ?? found.cards.length + 1}`, card, lineOf: () => 1 });
  for (const name of ['collections', 'databases', 'snippets', 'fields'] as const)
    addAll(found[name], (parts[name] ?? []) as Part[]);
}

export interface Native {
  text: string;
  tags: Record<string, Part>;
  database: unknown;
}

/** The SQL of a question, in the forms of all versions. Undefined: it was made in the query builder. */
export function nativeOf({ dataset_query: query }: Part): Native | undefined {
  if (!isRecord(query)) return undefined;
  const { database } = query;
  if (query.type === 'native' && isRecord(query.native))
    return { text: String(query.native.query), tags: query.native['template-tags'] ?? {}, database };
  const [stage, ...further] = Array.isArray(query.stages) ? query.stages : [];
  if (!isRecord(stage) || further.length > 0 || typeof stage.native !== 'string') return undefined;
  return { text: stage.native, tags: stage['template-tags'] ?? {}, database };
}

/** A number, or the names of database, schema, table and column. */
export function fieldIdOf({ dimension }: Part): unknown {
  if (!Array.isArray(dimension) || !['field', 'field-id'].includes(dimension[0])) return undefined;
  return isRecord(dimension[1]) ? dimension[2] : dimension[1];
}
