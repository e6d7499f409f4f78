/** Redash's queries → queries of a hub. */

import type { EngineName } from '@datahub/contract/engines';
import { engineOf, type FoundSource, type Imported } from './imported.ts';
import { commandOf, type Dialect, outlineOf } from './outline.ts';
import type { Converted } from './plain-sql.ts';
import { type Api, type ExportFile, isRecord, type Loose, parseExport } from './read-export.ts';
import { createParameters } from './redash-parameters.ts';
import { type Misfit, TextConversion } from './text-conversion.ts';

export interface RedashExport {
  queries: { file: string; query: Loose }[];
  sources: Loose[];
}

/** Redash's own maximum. */
const pageSize = 100;
const pagesMax = 1_000;

export async function readRedashApi(api: Api): Promise<RedashExport> {
  const queries: RedashExport['queries'] = [];
  for (let page = 1; page <= pagesMax; page++) {
    const answer = await api.get(`api/queries?page=${page}&page_size=${pageSize}`);
    const { count, results } = answer as Loose;
    queries.push(...results.map((query: Loose) => ({ file: `query ${query.id}`, query })));
    if (queries.length >= count || results.length === 0) break;
  }
  const list = [await api.get('api/data_sources')].flat();
  // Only an admin sees the settings.
  const sources = await Promise.all(
    list.map((one) => api.get(`api/data_sources/${one.id}`).catch(() => one)),
  );
  return { queries, sources };
}

/**
 * Answers of Redash's API in JSON: a query, a list, a page of `GET /api/queries`, or `{queries, data_sources}`; and the
 * `.sql` files of redash-toolbelt, whose first comment names the query and its data source.
 */
export function readRedashFiles(files: ExportFile[]): RedashExport {
  const found: RedashExport = { queries: [], sources: [] };
  for (const file of files) {
    if (file.name.toLowerCase().endsWith('.sql')) {
      found.queries.push({ file: file.name, query: readToolbelt(file.text) });
      continue;
    }
    const json = parseExport(file);
    const parts =
      isRecord(json) && Array.isArray(json.queries)
        ? json.queries
        : isRecord(json) && Array.isArray(json.results)
          ? json.results
          : [json].flat();
    if (isRecord(json) && Array.isArray(json.data_sources)) found.sources.push(...json.data_sources);
    for (const query of parts as unknown[]) {
      if (!isRecord(query)) continue;
      if (typeof query.query === 'string')
        found.queries.push({ file: `${file.name}#${query.id ?? found.queries.length + 1}`, query });
      else if (typeof query.type === 'string' && query.name !== undefined) found.sources.push(query);
    }
  }
  return found;
}

function readToolbelt(text: string): Loose {
  const [head = '', inner = ''] = /^\s*\/\*([\s\S]*?)\*\//.exec(text) ?? [];
  const member = (name: string) => new RegExp(`^\\s*${name}:\\s*(.*?)\\s*$`, 'mi').exec(inner)?.[1];
  const source = member('Data source');
  // The lines of the comment are kept, so that the report has the lines of the file.
  const query = source === undefined ? text : head.replaceAll(/[^\n]/g, ' ') + text.slice(head.length);
  return { name: member('Name'), data_source_id: source, query };
}

const limit = '1000';

export function importRedash(found: RedashExport, into: Imported, engine: EngineName | undefined): void {
  const known = new Map(found.sources.map((one) => [String(one.id), toFoundSource(one)]));
  for (const { file, query } of found.queries) {
    const id = String(query.data_source_id ?? query.data_source?.id ?? '');
    const label = String(query.name ?? '').trim() || `Query ${query.id ?? file}`;
    const tags: unknown[] = Array.isArray(query.tags) ? query.tags : [];
    if (query.is_archived === true) {
      into.refuse(file, 'The query is archived.');
      continue;
    }
    const source: FoundSource = known.get(id) ?? {
      label: id === '' ? 'Database' : `Data source ${id}`,
      engine: engine ?? 'postgres',
    };
    const folder = tags.length > 0 ? [String(tags[0])] : [];
    into.add({ file, label, folder, source }, (of, note) =>
      convertQuery(query, of === 'postgres' ? 'postgres' : 'mysql', note),
    );
  }
}

function toFoundSource({ id, name, type, options: given }: Loose): FoundSource {
  const options = isRecord(given) ? given : {};
  const port = Number(options.port);
  return {
    id,
    label: String(name),
    engine: engineOf(String(type)),
    host: options.host || undefined,
    port: Number.isInteger(port) && port > 0 ? port : undefined,
    database: options.dbname || options.db || undefined,
    needsTls: ['require', 'verify-ca', 'verify-full'].includes(options.sslmode) || options.use_ssl === true,
  };
}

function convertQuery(
  { query, options, schedule }: Loose,
  dialect: Dialect,
  note: (detail: string) => void,
): Converted | Misfit[] {
  const source = String(query);
  const parameters = createParameters(options?.parameters ?? [], {
    dialect,
    note,
    words: () => conversion.words,
  });
  const conversion: TextConversion = new TextConversion(source, {
    dialect,
    hasBraces: true,
    keepsColumnNames: true,
    hasOptionalParts: false,
    fill: parameters.fill,
    absent: () => undefined,
  });
  const text = conversion.convert().trim();
  if (conversion.words.trim() === '') conversion.refuse(0, 'The query has no statement.');
  if (conversion.misfits.length > 0) return conversion.misfits;
  if (isRecord(schedule) && Number(schedule.interval) > 0)
    note(
      `Redash runs it every ${schedule.interval} s and keeps the rows. A cache or a watch does that here.`,
    );
  const command = commandOf(conversion.words);
  return {
    text: options?.apply_auto_limit === true ? withLimit(text, dialect) : text,
    command,
    context: parameters.context(),
  };
}

/** "Limit 1000" of Redash's editor: only a text that begins with SELECT, and has no limit, gets it. */
function withLimit(text: string, dialect: Dialect): string {
  const { text: outline } = outlineOf(text, dialect);
  const isSelect = /^select\b/i.test(text);
  if (!isSelect || /\b(?:limit|offset|fetch)\b/i.test(outline)) return text;
  return `${text}\nLIMIT ${limit}`;
}
