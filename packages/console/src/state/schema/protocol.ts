/** The messages between the page and the worker that indexes tables. */

export interface TableHit {
  sourceId: string;
  schema: string;
  name: string;
  kind: string;
  comment?: string | undefined;
  /** Absent if the database has no estimate. */
  rowEstimate?: number | undefined;
}

export interface ColumnHit {
  name: string;
  type: string;
  nullable: boolean;
  comment?: string;
}

export interface ForeignKey {
  columns: string[];
  /** Of the table that it references. */
  schema: string;
  table: string;
  referencedColumns: string[];
}

/** A table as the hub describes it. */
export interface TableJson extends Omit<TableHit, 'sourceId'> {
  columns: ColumnHit[];
  primaryKey: string[];
  foreignKeys: ForeignKey[];
}

export interface Completion {
  label: string;
  kind: 'table' | 'column' | 'schema' | 'join';
  detail: string;
  /** What is inserted, if it is not the name. */
  insert?: string;
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
  | { op: 'complete'; sourceId: string; text: string; at: number };

export interface Answers {
  load: { tables: number };
  search: { tables: TableHit[]; total: number };
  /** Undefined if it is not in the schema. */
  table: TableJson | undefined;
  complete: CompletionAnswer;
}
