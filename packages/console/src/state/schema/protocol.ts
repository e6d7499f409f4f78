/** The messages between the page and the worker that indexes tables. */

export interface TableHit {
  sourceId: string;
  schema: string;
  name: string;
  kind: string;
}

export interface ColumnHit {
  name: string;
  type: string;
  nullable: boolean;
}

export interface Completion {
  label: string;
  kind: 'table' | 'column' | 'schema' | 'join';
  detail: string;
  /** What is inserted, if it is not the name. */
  insert?: string;
}

/** A foreign key of one column. */
export interface Relation {
  from: { schema: string; table: string; column: string };
  to: { schema: string; table: string; column: string };
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
  | { op: 'relations'; sourceId: string; relations: Relation[] }
  | { op: 'columns'; sourceId: string; schema: string; table: string }
  | { op: 'complete'; sourceId: string; text: string; at: number };

export interface Answers {
  load: { tables: number };
  search: { tables: TableHit[]; total: number };
  relations: null;
  columns: ColumnHit[];
  complete: CompletionAnswer;
}
