/** The messages between the page and the worker that indexes tables. */

import type { Answer } from '../../api/types.ts';

/** A table as the hub describes it. */
export type TableJson = Answer<'GET /v1/sources/{sourceId}/schema'>['tables'][number];
export type ColumnHit = TableJson['columns'][number];
export type ForeignKey = TableJson['foreignKeys'][number];

export interface TableHit extends Omit<TableJson, 'columns' | 'primaryKey' | 'foreignKeys'> {
  sourceId: string;
}

export interface Completion {
  label: string;
  kind: 'table' | 'column' | 'schema' | 'join';
  detail: string;
  /** The text that is inserted: quoted, and with its schema, as the engine needs it. */
  insert: string;
}

export interface CompletionAnswer {
  /** The start of the word that is completed. */
  from: number;
  options: Completion[];
  /** True if some matches are left out, so that a longer word needs a new request. */
  cut: boolean;
}

export type SchemaRequest =
  | { op: 'load'; sourceId: string; text: string }
  | { op: 'search'; sourceId?: string; text: string; max: number }
  | { op: 'table'; sourceId: string; schema: string; name: string }
  | { op: 'complete'; sourceId: string; engine: string; text: string; at: number };

export interface Answers {
  load: { tables: number };
  search: { tables: TableHit[]; total: number };
  /** Undefined if it is not in the schema. */
  table: TableJson | undefined;
  complete: CompletionAnswer;
}
