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

export interface CompiledStatement {
  kind: StatementKind;
  verb: string;
  /** The statement also writes in a WITH, whose rows the database does not count. */
  uncounted: boolean;
  /** Names in the order of their first use in the text. */
  variables: string[];
  /** Throws CONTEXT_INVALID with all faults at once. */
  bind(given: Given): BoundStatement;
  /** The text to describe, and for each of its placeholders the name of the variable. */
  describable(): BoundStatement & { placeholders: string[] };
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
