/** What the page and the worker with the index of tables say to each other. */

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
  kind: 'table' | 'column' | 'schema';
  detail: string;
}

export interface CompletionAnswer {
  /** Where the word that is completed begins. */
  from: number;
  options: Completion[];
  /** Some that match the word are left out, so a longer word must be asked for again. */
  cut: boolean;
}

export type Asked =
  | { op: 'load'; sourceId: string; text: string }
  | { op: 'search'; sourceId?: string; text: string; max: number }
  | { op: 'columns'; sourceId: string; schema: string; table: string }
  | { op: 'complete'; sourceId: string; text: string; at: number };

export interface Answers {
  load: { tables: number };
  search: { tables: TableHit[]; total: number };
  columns: ColumnHit[];
  complete: CompletionAnswer;
}
