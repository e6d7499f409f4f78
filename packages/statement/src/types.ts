/** The types of compiled statements, for every engine. */

import type { EngineName, SqlEngineName } from '@datahub/contract/engines';
import type { Variable } from '@datahub/proto/catalog/v1/catalog';
import type { SqlFault } from '@datahub/service-kit/call/error';
import type { UntypedValue } from './sql/untyped.ts';
import type { BoundValue, Given } from './values.ts';

export type Dialect = SqlEngineName;

/** `standalone` statements run outside of the hub's transactions. */
export type StatementKind = 'read' | 'write' | 'standalone';

export interface BoundStatement {
  /** Texts of one compiled statement with the same key are equal. */
  key: string;
  text: string;
  params: BoundValue[];
  /** Values whose form depends on the type that the database expects. On PostgreSQL, their parameters are their JSON. */
  untyped?: readonly UntypedValue[];
  /** True if PostgreSQL infers the type of a variable. */
  infersTypes?: boolean;
  /** PostgreSQL: the statement with more parameters than variables, if some places can expect another type. */
  apart?: Apart | undefined;
  /** MySQL: the text with other marks than `?` for some parameters, by their places. */
  textWith?(marks: ReadonlyMap<number, string>): string;
  /** MySQL: the first letter of the role of each parameter, see `Role`. */
  roles?(): string;
}

/** A text in which places of one variable are parameters of their own. */
export interface Apart {
  text: string;
  /** For each parameter, the place of its value among `params`. */
  params: readonly number[];
  /** The parameters of variables that are declared as texts. The text is wrong if another type is expected of one. */
  texts: readonly number[];
}

/** Facts about NULLs in the columns, derived from the text of a statement. */
export interface ColumnFacts {
  /** True if a column that is NOT NULL in its table has no NULL in the result. */
  keepsNotNull: boolean;
  /** Lower-case names of tables whose columns keep their NOT NULL, whatever `keepsNotNull` says. */
  keptTables: ReadonlySet<string>;
  /** For each column, true if it is a column of such a table, by the table's alias. Ignored like `neverNull`. */
  kept: readonly boolean[];
  /**
   * For each column, true if its expression is never NULL. Ignored if the number of entries differs from that of
   * columns.
   */
  neverNull: readonly boolean[];
  /** For each column, the variable that it is, if it is nothing else. Ignored like `neverNull`. */
  variables: readonly (string | undefined)[];
  /**
   * For each column, true if variables are computed with in it, so that it may be a number; `alone` if it names no column.
   * Ignored like `neverNull`.
   */
  computed?: readonly (boolean | 'alone')[];
  /** The functions that `neverNull` relies on, in lower case. If the database has others of these names, ignore it. */
  functions: ReadonlySet<string>;
}

/** A use of a variable that is probably a mistake. Line and column start at 1. */
export interface StatementWarning {
  code: string;
  detail: string;
  line: number;
  column: number;
}

/** A text of a statement that can be described without values. */
export interface DescribableStatement extends BoundStatement {
  /** The name of the variable for each placeholder. */
  placeholders: string[];
}

export interface CompiledStatement {
  kind: StatementKind;
  verb: string;
  /** True if the statement also writes in a WITH clause, whose rows the database does not count. */
  uncounted: boolean;
  /** Names in the order of their first use in the text. */
  variables: string[];
  /** Throws CONTEXT_INVALID with all faults at once. */
  bind(given: Given): BoundStatement;
  /**
   * Returns the texts that can run, depending on which variables are lists. The first one is the most likely. The
   * statement is valid if the database accepts any of them.
   */
  describable(): DescribableStatement[];
  columnFacts(): ColumnFacts;
  warnings(): StatementWarning[];
  /** Variables that can be a list because of their position, unless another type is declared. */
  lists: ReadonlySet<string>;
  /** Maps a position in the text that ran to the position in the stored text. */
  toStored(run: string, fault: SqlFault): SqlFault;
}

export interface CompileOptions {
  /** The grammar of the text: an engine's SQL, or the commands of MongoDB. */
  dialect: EngineName;
  command: string;
  variables: Variable[];
  /**
   * With `transaction`, statements that need a session are refused, because a pooler may run each transaction in
   * another one.
   */
  pooling?: string | undefined;
  /** True for a text that is not stored yet. It must not be too long to be read in one turn. */
  isNew?: boolean;
}
