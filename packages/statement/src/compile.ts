/**
 * Compiles a stored text into what an engine runs: once for a definition, after which binding takes microseconds. A value
 * never becomes part of a text of SQL, which depends only on which variables hold lists and on the padded lengths of these.
 */

import { compileCommand } from './mongodb/command.ts';
import { compileSql } from './sql/compile.ts';
import type { CompiledStatement, CompileOptions } from './types.ts';

export type {
  BoundStatement,
  BoundValue,
  ColumnFacts,
  CompiledStatement,
  DescribableStatement,
  Dialect,
  StatementKind,
  StatementWarning,
} from './types.ts';

/** Throws SQL_REJECTED, COMMAND_MISMATCH. */
export function compileStatement(text: string, options: CompileOptions): CompiledStatement {
  const { dialect } = options;
  return dialect === 'mongodb' ? compileCommand(text, options) : compileSql(text, { ...options, dialect });
}
