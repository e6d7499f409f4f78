/** What an importer found: the queries that it converted, and a report of what did not fit. */

import { type EngineName, engines } from '@datahub/contract/engines';
import type { Fault } from '../files/fault.ts';
import { SourceVariables } from '../files/hub-file.ts';
import { type HubModel, type QueryModel, type SourceModel, toPath } from '../files/model.ts';
import { toSource } from '../files/new-hub.ts';
import type { Converted } from './plain-sql.ts';
import type { Misfit } from './text-conversion.ts';

/** A database of another product, without its secrets. */
export interface FoundSource {
  /** Databases can have the same label. */
  id?: unknown;
  label: string;
  /** The product's name of the engine, if no engine of the hub is it. */
  engine: EngineName | { unknown: string };
  host?: string | undefined;
  port?: number | undefined;
  database?: string | undefined;
  needsTls?: boolean;
}

export interface FoundQuery {
  /** The file, and the query in it. */
  file: string;
  label: string;
  path?: string;
  folder: string[];
  source: FoundSource;
  cache?: QueryModel['cache'];
}

/** What a caller has to know about a query that was converted. */
export interface Note {
  file: string;
  detail: string;
}

export class Imported {
  readonly queries: QueryModel[] = [];
  readonly faults: Fault[] = [];
  readonly notes: Note[] = [];
  /** How many were not converted, of which a file can have several. */
  failed = 0;
  readonly #sources = new Map<string, SourceModel>();
  readonly #origins = new Map<string, string>();
  readonly #paths = new Set<string>();
  readonly #hub: string;
  readonly #variables: SourceVariables;

  constructor(hub: string) {
    this.#hub = hub;
    this.#variables = new SourceVariables(hub);
  }

  /** Adds and returns a query, or adds its misfits. */
  add(
    found: FoundQuery,
    convert: (engine: EngineName, note: (detail: string) => void) => Converted | Misfit[],
  ): QueryModel | undefined {
    const { file, label, folder, source, cache } = found;
    const { engine } = source;
    if (typeof engine === 'object' || engine === 'mongodb') {
      const kind = typeof engine === 'object' ? engine.unknown : engine;
      this.refuse(file, `Only the SQL of PostgreSQL, MySQL and MariaDB is converted, not that of ${kind}.`);
      return undefined;
    }
    const notes: string[] = [];
    const converted = convert(engine, (detail) => notes.push(detail));
    if (Array.isArray(converted)) {
      this.failed++;
      this.faults.push(...converted.map((misfit) => ({ file, ...misfit })));
      return undefined;
    }
    this.notes.push(...[...new Set(notes)].map((detail) => ({ file, detail })));
    const path = found.path === undefined ? toPath(label, this.#paths) : freePath(found.path, this.#paths);
    this.#paths.add(path);
    if (found.path !== undefined && found.path !== path)
      this.notes.push({ file, detail: `Another query has the path ${found.path}. Here it is ${path}.` });
    const database = this.#labelOf(source);
    if (!this.#sources.has(database))
      this.#sources.set(
        database,
        toSource(this.#hub, this.#variables, { ...source, label: database, engine }),
      );
    const optional = cache === undefined ? {} : { cache };
    const query = { path, label, source: database, folder, notNull: [], ...converted, ...optional };
    this.queries.push(query);
    return query;
  }

  #labelOf(source: FoundSource): string {
    const origin = JSON.stringify(source);
    for (let count = 1; ; count++) {
      const label = count === 1 ? source.label : `${source.label} ${count}`;
      const known = this.#origins.get(label) ?? origin;
      if (known !== origin) continue;
      this.#origins.set(label, origin);
      return label;
    }
  }

  refuse(file: string, detail: string, place = { line: 1, column: 1 }): void {
    this.failed++;
    this.faults.push({ file, ...place, detail });
  }

  /** The hub with the sources and folders that the queries need. */
  toHub(label: string): HubModel {
    const parents = this.queries.flatMap(({ folder }) => folder.map((_, i) => folder.slice(0, i + 1)));
    const folders = new Map(parents.map((labels) => [JSON.stringify(labels), labels]));
    return {
      path: this.#hub,
      label,
      sources: [...this.#sources.values()],
      folders: [...folders.values()],
      classifiers: [],
      queries: this.queries,
    };
  }
}

function freePath(wanted: string, taken: ReadonlySet<string>): string {
  let path = wanted;
  for (let count = 2; taken.has(path); count++) path = `${wanted}-${count}`;
  return path;
}

const aliases: Readonly<Record<string, EngineName>> = {
  pg: 'postgres',
  postgresql: 'postgres',
  rds_mysql: 'mysql',
};

/** The engine that another product names. */
export function engineOf(name: string): FoundSource['engine'] {
  const known = aliases[name] ?? engines.find((engine) => engine === name);
  return known ?? { unknown: name };
}
