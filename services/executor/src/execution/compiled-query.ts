/** A stored query as the pipeline sees it: compiled once per definition, bound for every execution. */

import type { SqlFault } from '@datahub/service-kit/call/error';
import type { QueryDefinition } from '../definitions/definition-cache.ts';
import type { Signature, Statement } from '../engine.ts';

/** JSON objects as text, digits untouched; empty for none. */
export interface CallValues {
  /** Variables that the key pins: the caller cannot override them. */
  pinnedJson: string;
  contextJson: string;
  /** A name in the context that the query does not know is CONTEXT_INVALID. */
  strict?: boolean | undefined;
  /** Hears of such names where they are allowed. */
  onUnknown?: ((names: string[]) => void) | undefined;
}

export interface DescribedVariable {
  key: string;
  type?: string;
}

export interface PreparedQuery {
  readonly kind: Statement['kind'];
  /** It touches rows that the database does not count for it. */
  readonly uncounted: boolean;
  /** Throws CONTEXT_INVALID with all faults at once. */
  bind(values: CallValues): Statement;
  /** A form that can be described without values. */
  describable(): Statement;
  /** The variables in the order of the text, with the types that are declared or that the source found. */
  variables(signature: Signature): DescribedVariable[];
  /** Moves a place in the text of the statement that was run to the stored text. */
  toStored(fault: SqlFault, run: Statement): SqlFault;
  /** What a database says of a placeholder, said of its variable. */
  readonly toWords: (message: string) => string;
}

/** Throws SQL_REJECTED, COMMAND_MISMATCH or VALIDATION. */
export type CompileQuery = (definition: QueryDefinition) => PreparedQuery;

/** Compiles each definition once; definitions keep their identity while nothing about them changes. */
export function compileOnce(compile: CompileQuery): CompileQuery {
  const compiled = new WeakMap<QueryDefinition, PreparedQuery>();
  return (definition) => {
    const known = compiled.get(definition);
    if (known) return known;
    const prepared = compile(definition);
    compiled.set(definition, prepared);
    return prepared;
  };
}
