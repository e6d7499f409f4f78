/**
 * Compiles a stored text to the text that an engine runs. A definition is compiled once; binding then takes
 * microseconds. Values never become part of an SQL text. The text depends only on which variables are lists and on
 * their padded lengths.
 */

import { compileCommand } from './mongodb/command.ts';
import { compileSql } from './sql/compile.ts';
import type { CompiledStatement, CompileOptions } from './types.ts';

export type {
  BoundStatement,
  ColumnFacts,
  CompiledStatement,
  DescribableStatement,
  Dialect,
  StatementKind,
  StatementWarning,
} from './types.ts';
export type { BoundValue } from './values.ts';

/** Throws SQL_REJECTED, COMMAND_MISMATCH. */
export function compileStatement(text: string, options: CompileOptions): CompiledStatement {
  const { dialect } = options;
  return dialect === 'mongodb' ? compileCommand(text, options) : compileSql(text, { ...options, dialect });
}

/**
 * The variables of a cache's `validate` that its query lacks. Answers are cached by the values of the query, so a caller
 * could renew another's answer with such a variable.
 */
export function unknownVariables(
  validate: Pick<CompiledStatement, 'variables'>,
  query: Pick<CompiledStatement, 'variables'>,
): string[] {
  const known = new Set(query.variables);
  return validate.variables.filter((name) => !known.has(name));
}
