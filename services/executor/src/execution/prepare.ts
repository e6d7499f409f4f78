/**
 * Prepares an execution: compiles the stored query once per definition, checks what the key may do with it, sets the
 * limits of the run, and binds the caller's values.
 */

import { type FormatName, formats } from '@datahub/contract/formats';
import { withScope } from '@datahub/contract/roles';
import { isGranted } from '@datahub/contract/scopes';
import { claimsOf, joinSessions, parseSession } from '@datahub/contract/session-settings';
import type { StoredStep } from '@datahub/contract/transactions';
import type { Variable } from '@datahub/proto/catalog/v1/catalog';
import type { Principal } from '@datahub/proto/common/v1/principal';
import type {
  DescribedVariable,
  ExecuteOptions,
  ExecuteRequest,
  QueryPath,
} from '@datahub/proto/executor/v1/executor';
import { HubError, type SqlFault } from '@datahub/service-kit/call/error';
import {
  type ColumnFacts,
  type CompiledStatement,
  compileStatement,
  type DescribableStatement,
  type StatementWarning,
  unknownVariables,
} from '@datahub/statement/compile';
import { type CompiledSession, compileSession, outsideOfTransaction } from '@datahub/statement/session';
import type { QueryDefinition } from '../definitions/definition.ts';
import type { RunOptions, Signature, Statement } from '../ports/engine.ts';
import { keyLimits } from './key-limits.ts';
import { statementKey } from './statement-key.ts';

/** The values of a call: JSON objects as text, so that no digit is lost; empty for none. */
export interface CallValues {
  /** The variables that the key pins. The caller cannot override them. */
  pinnedJson: string;
  contextJson: string;
  /** Pinned variables whose single value is a list of one if they are declared as a list. */
  scalarsAsLists?: readonly string[] | undefined;
  /** If true, a name in the context that the query does not know fails with CONTEXT_INVALID. */
  strict?: boolean | undefined;
  /** Receives such names if they are allowed. */
  onUnknown?: ((names: string[]) => void) | undefined;
  /** All claims of the signed-in user. A session that reads claims fails without them. */
  claimsJson?: string | undefined;
}

/** A form of the statement that can be described without values. */
export interface DescribableForm extends Statement {
  placeholders: string[];
}

/** A compiled query. */
export interface PreparedQuery {
  /** `transaction` for a query with steps, which can write. */
  readonly kind: Statement['kind'] | 'transaction';
  /** Only of a transaction. */
  readonly steps?: readonly PreparedStep[];
  /** The names of the variables in the text and in the session. */
  readonly names: readonly string[];
  /** Whether the session of the source is set from a claim. */
  usesClaim(path: string): boolean;
  /** True if the statement changes rows that the database does not count. */
  readonly uncounted: boolean;
  /** Throws CONTEXT_INVALID with all faults at once. */
  bind(values: CallValues): Statement;
  /** The compiled `validate` of the query's cache. Undefined if it uses variables that the query lacks. */
  readonly validation?: PreparedQuery | undefined;
  /** The forms in which the statement can run, the most likely one first. */
  describable(): DescribableForm[];
  columnFacts(): ColumnFacts;
  warnings(): StatementWarning[];
  /**
   * Returns the variables in the order of the text, with their declared types, else with those that the source
   * reported.
   */
  variables(signature: Signature, form: DescribableForm): DescribedVariable[];
  /** Maps a position in the text that was run to the stored text. */
  mapLocation(fault: SqlFault, run: Statement): SqlFault;
  /** Replaces the numbers of placeholders in a database's message with the names of variables. */
  readonly nameVariables: (message: string) => string;
}

export type PreparedStatement = PreparedQuery & { readonly kind: Statement['kind'] };

/** A statement of a stored transaction. */
export interface PreparedStep {
  stored: StoredStep;
  prepared: PreparedStatement;
}

/** Throws SQL_REJECTED, COMMAND_MISMATCH or VALIDATION. */
export type CompileQuery = (definition: QueryDefinition) => PreparedQuery;

/** Compiles each definition once. A definition stays the same object until it changes. */
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

/** Compiles a query of one statement. */
export function compileQuery(definition: QueryDefinition): PreparedStatement {
  const { text, command, source, cache } = definition;
  const session = sessionOf(definition);
  const variables = withVariables(definition.variables, session?.variables ?? []);
  const isNew = isDraft(definition);
  const options = { dialect: source.engine, variables, pooling: source.servers?.pooling, isNew };
  const compiled = compileStatement(text, { ...options, command });
  if (session !== undefined && compiled.kind === 'standalone') throw outsideOfTransaction();
  const query = new CompiledQuery(compiled, definition, session);
  if (cache?.validate === undefined) return query;
  const validate = compileStatement(cache.validate, { ...options, command: 'SELECT' });
  // Saving refuses them now, but older releases stored them.
  if (unknownVariables(validate, compiled).length > 0) return query;
  const named = { ...definition, queryId: `${definition.queryId}.validate`, text: cache.validate };
  query.validation = new CompiledQuery(validate, named, session);
  return query;
}

/** Throws SQL_REJECTED if the query sets what its source sets: the source got its session later. */
function sessionOf({ sessionJson, source, variables }: QueryDefinition): CompiledSession | undefined {
  if (sessionJson === undefined && source.sessionJson === undefined) return undefined;
  const { session, replaced } = joinSessions(parseSession(source.sessionJson), parseSession(sessionJson));
  if (replaced.length === 0) return compileSession(session, variables);
  const names = replaced.map((member) => member.at(-1)).join(', ');
  const message = `The session of this query sets ${names}, which its source sets. Remove it from the query.`;
  throw new HubError('SQL_REJECTED', message, { stage: 'prepare', retryable: false });
}

/** A variable of the session of a source is one of each of its queries. */
export function withVariables(declared: Variable[], names: readonly string[]): Variable[] {
  const missing = names.filter((name) => !declared.some(({ key }) => key === name));
  return missing.length === 0 ? declared : [...declared, ...missing.map((key) => ({ key }))];
}

/** A draft has the id of its source, or none. */
const isDraft = ({ queryId, source }: QueryDefinition): boolean =>
  queryId === '' || queryId === source.sourceId;

/** Ids with other characters do not come from the hub. */
function commentOf(definition: QueryDefinition): string | undefined {
  const { queryId } = definition;
  if (isDraft(definition)) return 'datahub draft';
  return /^[\w.-]+$/.test(queryId) ? `datahub query=${queryId}` : undefined;
}

class CompiledQuery implements PreparedQuery {
  readonly kind: Statement['kind'];
  readonly names: readonly string[];
  readonly uncounted: boolean;
  validation: PreparedQuery | undefined;
  readonly #compiled: CompiledStatement;
  readonly #declared: Map<string, Variable>;
  readonly #key: string;
  readonly #comment: string | undefined;
  readonly #errors: string | undefined;
  readonly #session: CompiledSession | undefined;
  readonly #claims: ReturnType<typeof claimsOf>;

  constructor(
    compiled: CompiledStatement,
    definition: QueryDefinition,
    session: CompiledSession | undefined,
  ) {
    const { variables, errors } = definition;
    this.kind = compiled.kind;
    this.names =
      session === undefined || session.variables.length === 0
        ? compiled.variables
        : [...new Set([...compiled.variables, ...session.variables])];
    this.#session = session;
    this.#claims = claimsOf(parseSession(definition.source.sessionJson));
    this.uncounted = compiled.uncounted;
    this.#compiled = compiled;
    this.#key = statementKey(definition);
    this.#comment = commentOf(definition);
    this.#errors = errors;
    this.#declared = new Map(variables.map((variable) => [variable.key, variable]));
  }

  usesClaim(path: string): boolean {
    return this.#claims.all || this.#claims.paths.includes(path);
  }

  bind(values: CallValues): Statement {
    const { key, ...bound } = this.#compiled.bind(values);
    return {
      ...bound,
      ...(this.#session && { session: this.#session.bind(values) }),
      key: key === '' ? this.#key : `${this.#key}.${key}`,
      kind: this.kind,
      comment: this.#comment,
      errors: this.#errors,
    };
  }

  describable(): DescribableForm[] {
    return this.#compiled
      .describable()
      .map(({ key, text, params, apart, placeholders }: DescribableStatement) => ({
        key: `${this.#key}.describe.${key}`,
        text,
        params,
        ...(apart && { apart }),
        kind: this.kind,
        comment: this.#comment,
        ...(this.#session && { session: this.#session.constants }),
        placeholders,
      }));
  }

  columnFacts(): ColumnFacts {
    return this.#compiled.columnFacts();
  }

  warnings(): StatementWarning[] {
    return this.#compiled.warnings();
  }

  variables(signature: Signature, { placeholders }: DescribableForm): DescribedVariable[] {
    const { parameters, parameterLabels } = signature;
    const places = new Map<string, number>();
    for (const [i, key] of placeholders.entries()) if (!places.has(key)) places.set(key, i);
    return this.names.map((key) => {
      const declared = this.#declared.get(key);
      const place = places.get(key) ?? -1;
      const type = declared?.type ?? parameters[place];
      const labels = declared?.type === undefined ? parameterLabels?.get(place) : undefined;
      return {
        key,
        ...(type === undefined ? {} : { type }),
        list: type?.endsWith('[]') || (declared?.type === undefined && this.#compiled.lists.has(key)),
        nullable: declared?.required !== true,
        ...(labels && { labels: { values: [...labels] } }),
      };
    });
  }

  /** Only PostgreSQL numbers placeholders in its messages, and it names the one whose type it cannot infer. */
  readonly nameVariables = (message: string): string => {
    const numbered = /could not determine data type of parameter \$(\d+)/.exec(message);
    const key = numbered && this.#compiled.variables[Number(numbered[1]) - 1];
    if (key) {
      return `The database cannot infer the type of :${key} from the statement. Declare it in the query’s context, as in {"key": "${key}", "type": "string"}.`;
    }
    const pattern = /(the value of )?(?:parameter |(?<=at or near "))\$(\d+)/g;
    return message.replace(pattern, (found, value = '', number) => {
      const name = this.#compiled.variables[Number(number) - 1];
      if (name === undefined) return found;
      const type = value === '' ? undefined : this.#declared.get(name)?.type;
      return `${value}:${name}${type === undefined ? '' : `, which is declared as ${type}`}`;
    });
  };

  mapLocation(fault: SqlFault, run: Statement): SqlFault {
    return this.#compiled.toStored(run.text, fault);
  }
}

/** The limits that this hub sets for every execution. */
export interface ExecutionLimits {
  /** The timeout for sources that set none. */
  statementTimeoutMs: number;
  /** The most rows of one answer; 0 for no limit. */
  rowsMax: number;
}

/** Throws SCOPE_DENIED. Writes need their own scope, and only the compiled query shows whether it writes. */
export function requireAllowed(
  principal: Principal,
  query: QueryDefinition,
  kind: PreparedQuery['kind'],
): void {
  const scope = kind === 'read' ? 'queries:execute' : 'queries:execute:write';
  const allowed = isGranted(principal.scopes, scope) ? principal : withScope(principal, scope);
  if (allowed === undefined) throw new HubError('SCOPE_DENIED', `This needs a key with the scope ${scope}.`);
  requireWithinLimits(allowed, query);
}

/** Throws SCOPE_DENIED for a query or hub outside the limits of the key. */
export function requireWithinLimits({ limits }: Principal, query: QueryDefinition): void {
  keyLimits.queryIds(limits, query);
  keyLimits.queries(limits, query);
  keyLimits.hubIds(limits, query.hubId);
}

/** The caller may have found the query by names that it had before. */
export function requireNamed({ hubId, hubPath, path }: QueryDefinition, named: QueryPath | undefined): void {
  if (named === undefined) return;
  if (named.path === path && (named.hub === hubId || named.hub === hubPath)) return;
  throw new HubError('NOT_FOUND', 'There is no such query.', { stage: 'prepare' });
}

/** Throws VERSION_CHANGED if the call is for another version of the query. */
export function requireVersion(
  { versionNumber }: Pick<QueryDefinition, 'versionNumber'>,
  { version }: Pick<ExecuteOptions, 'version'>,
): void {
  if (version === undefined || version === versionNumber) return;
  const message = `The query has version ${versionNumber}, and the call is for version ${version}. Check what changed, then send ${versionNumber}.`;
  throw new HubError('VERSION_CHANGED', message, { retryable: false, version: versionNumber });
}

/** Throws NOT_ACCEPTABLE for a format of typed columns, if the rows have none, and for one whose rows get no members. */
export function requireFittingFormat(
  format: FormatName,
  { annotate }: Pick<ExecuteRequest, 'annotate'>,
  { source }: Pick<QueryDefinition, 'source'>,
): void {
  const { rows, label, takesLabels } = formats[format];
  const refuse = (message: string): never => {
    throw new HubError('NOT_ACCEPTABLE', message, { stage: 'prepare', retryable: false });
  };
  if (annotate !== undefined && !takesLabels) refuse(`Annotated rows are not available as ${label}.`);
  if (rows === 'typed columns' && source.engine === 'mongodb')
    refuse(`The documents of MongoDB have no column types, so they are not available as ${label}.`);
}

/** Throws OPTION_REFUSED for a query that writes, if the call may be stopped and repeated. */
export function requireReading(
  { annotate, onlyReads }: Pick<ExecuteRequest, 'annotate' | 'onlyReads'>,
  { kind }: Pick<PreparedQuery, 'kind'>,
): void {
  if (kind === 'read' || (annotate === undefined && onlyReads !== true)) return;
  throw refusedOption(
    'This query writes. It must read if the option reads is set, or if its rows are annotated, used for training or summarized.',
  );
}

/** Returns the time that an execution may take. A caller can only shorten it. Throws OPTION_REFUSED for 0. */
export function timeoutMsOf(
  query: QueryDefinition,
  requested: ExecuteOptions | undefined,
  limits: ExecutionLimits,
): number {
  if (requested?.timeoutMs === 0)
    throw refusedOption('A timeoutMs of 0 leaves no time to run. Set it to at least 1.');
  const limitMs = query.source.statementTimeoutMs ?? limits.statementTimeoutMs;
  return Math.min(requested?.timeoutMs ?? limitMs, limitMs);
}

/** The database's own timeout fires this much later, so that the executor's fires first and reports the cause. */
const backstopMs = 1_000;

/**
 * Rounds up to two significant digits. Each change of the timeout on a connection costs a statement, so few values are
 * used.
 */
function roundUp(timeoutMs: number): number {
  const unit = 10 ** (Math.floor(Math.log10(timeoutMs)) - 1);
  return Math.ceil(timeoutMs / unit) * unit;
}

/** Throws OPTION_REFUSED for an option that the statement does not support. */
export function runOptionsOf(
  requested: ExecuteOptions | undefined,
  { kind, uncounted }: Pick<PreparedQuery, 'kind' | 'uncounted'>,
  { timeoutMs, rowsMax, format }: { timeoutMs: number; rowsMax: number | undefined; format?: FormatName },
): RunOptions {
  const options: RunOptions = { statementTimeoutMs: roundUp(timeoutMs + backstopMs) };
  const rows = leastOf(requested?.maxRows, rowsMax);
  if (rows !== undefined) options.maxRows = rows;
  if (requested?.allResults) {
    if (kind === 'read') throw refusedOption('This query reads, so it has one result. Leave out results.');
    if (format !== 'json') throw refusedOption('Several results are available as JSON only.');
    options.allResults = true;
  }
  if (requested === undefined || kind === 'read') return options;
  if (kind === 'standalone' && (requested.dryRun || requested.maxAffected !== undefined)) {
    throw refusedOption(
      'This statement runs outside of a transaction, so the hub cannot roll it back. Leave out dryRun and maxAffected.',
    );
  }
  if (uncounted && requested.maxAffected !== undefined) {
    throw refusedOption(
      'A SELECT or a WITH clause of this statement writes rows that the database does not count, so maxAffected cannot be enforced. Leave it out, or write in the main statement only.',
    );
  }
  if (requested.dryRun) options.dryRun = true;
  if (requested.maxAffected !== undefined) options.maxAffected = requested.maxAffected;
  return options;
}

export const refusedOption = (message: string) =>
  new HubError('OPTION_REFUSED', message, { stage: 'prepare', retryable: false });

/** Returns the lowest of the limits that are set; undefined if none is set. */
export function leastOf(...limits: (number | undefined)[]): number | undefined {
  let least: number | undefined;
  for (const limit of limits)
    if (limit !== undefined && (least === undefined || limit < least)) least = limit;
  return least;
}
