/** What a stored text is compiled to, for every engine. */

import type { EngineName, SqlEngineName } from '@datahub/contract/engines';
import type { Variable } from '@datahub/proto/catalog/v1/catalog';
import type { SqlFault } from '@datahub/service-kit/call/error';
import type { Given } from './values.ts';

export type Dialect = SqlEngineName;

/** `standalone` statements run outside of a transaction of the hub. */
export type StatementKind = 'read' | 'write' | 'standalone';

/** A decimal is its digits. Only engines that take the type from the value, not from the statement, get one. */
export type BoundValue = string | number | bigint | boolean | null | { readonly decimal: string };

export interface BoundStatement {
  /** Equal keys of one compiled statement mean equal texts. */
  key: string;
  text: string;
  params: BoundValue[];
}

/** What the text of a statement says about NULLs in its columns. */
export interface ColumnFacts {
  /** A column that is NOT NULL in its table has no NULL in the result. */
  keepsNotNull: boolean;
  /** For each column whether its expression is never NULL. Unknown unless there are as many entries as columns. */
  neverNull: readonly boolean[];
}

/** A use of a variable that hardly ever does what was meant. Line and column count from 1. */
export interface StatementWarning {
  code: string;
  detail: string;
  line: number;
  column: number;
}

/** A text of a statement that can be described without values. */
export interface DescribableStatement extends BoundStatement {
  /** For each placeholder the name of its variable. */
  placeholders: string[];
}

export interface CompiledStatement {
  kind: StatementKind;
  verb: string;
  /** The statement also writes in a WITH, whose rows the database does not count. */
  uncounted: boolean;
  /** Names in the order of their first use in the text. */
  variables: string[];
  /** Throws CONTEXT_INVALID with all faults at once. */
  bind(given: Given): BoundStatement;
  /**
   * The texts that can run, in which a variable holds a list or another value. The first one is the most likely; the
   * statement runs if the database accepts any of them.
   */
  describable(): DescribableStatement[];
  columnFacts(): ColumnFacts;
  warnings(): StatementWarning[];
  /** Variables that take a list because of where they stand, unless another type is declared. */
  lists: ReadonlySet<string>;
  /** Maps a position in the text that ran to the position in the stored text. */
  toStored(run: string, fault: SqlFault): SqlFault;
}

export interface CompileOptions {
  /** The grammar of the text: an engine's SQL, or the commands of MongoDB. */
  dialect: EngineName;
  command: string;
  variables: Variable[];
  /** With `transaction`, what needs a session of its own is refused: a pooler gives each transaction another one. */
  pooling?: string | undefined;
}
