/** The rules of stored queries, as pure functions. */

import { isReadingCommand } from '@datahub/contract/commands';
import { type Complete, withoutUndefined } from '@datahub/contract/complete';
import type { EngineName } from '@datahub/contract/engines';
import { countValues } from '@datahub/contract/json-text';
import { queryLimits, queryPathPattern, toolNamePattern } from '@datahub/contract/limits';
import { type FieldPath, fieldName } from '@datahub/contract/validation-error';
import { declarableTypes } from '@datahub/contract/variable-types';
import type {
  CachePolicy,
  CreateQueryRequest,
  QueryWarning,
  Tool,
  UpdateQueryRequest,
  Variable,
} from '@datahub/proto/catalog/v1/catalog';
import { HubError } from '@datahub/service-kit/call/error';
import { verbOf } from '@datahub/statement/mongodb/command';
import { faultOfDefault } from '@datahub/statement/values';
import { type Checker, checkSession, checkStatementMembers, createChecker, parseJson } from './check.ts';
import type { CacheDoc, QueryDoc, SourceDoc, ToolDoc, VariableDoc } from './documents.ts';
import type { MakeContext } from './hub.ts';

const { textLength, variableNameLength } = queryLimits;
const isQueryPath = new RegExp(queryPathPattern);
const isToolName = new RegExp(toolNamePattern);
export const variableName = new RegExp(`^[A-Za-z_][A-Za-z0-9_]{0,${variableNameLength.max - 1}}$`);

/**
 * Returns warnings. `isNew` is false for a text that is stored already. Throws SQL_REJECTED, COMMAND_MISMATCH or
 * VALIDATION if text, command and cache do not fit the engine.
 */
export type CheckStatement = (
  query: Pick<
    QueryDoc,
    'engine' | 'command' | 'query' | 'context' | 'cache' | 'sessionJson' | 'transactionJson'
  >,
  source: Pick<SourceDoc, 'pooling' | 'sessionJson'> | null,
  isNew: boolean,
) => QueryWarning[];

export interface NewQuery extends Omit<CreateQueryRequest, 'context' | 'notNull'> {
  parentNodeId: string;
  engine: EngineName;
  context?: Variable[] | undefined;
  notNull?: readonly string[];
}

export function makeQuery(input: NewQuery, context: MakeContext): QueryDoc {
  const check = createChecker();
  const { engine, query: text, transactionJson } = input;
  const sent = { command: input.command ?? commandOf(input), query: text, transactionJson };
  const query: Complete<QueryDoc> = {
    id: context.createId('q', context.nowMs),
    accountId: context.accountId,
    version: 1,
    hubId: input.hubId,
    parentNodeId: input.parentNodeId,
    label: check.label(['label'], input.label),
    sourceId: input.sourceId,
    engine: input.engine,
    ...checkStatementMembers(check, { engine, sent }),
    context: checkVariables(check, ['context'], input.context ?? []),
    cache: input.cache && checkCache(check, ['cache'], input.cache),
    notNull: checkNotNull(check, input.notNull ?? []),
    errors: checkErrors(check, input.errors, input.engine),
    sessionJson: checkSession(check, input.sessionJson, { path: ['session'], engine: input.engine }),
    keepValues: input.keepValues || undefined,
    ...checkNames(check, { path: input.path, tool: input.tool, presentationJson: input.presentationJson }),
    grantsByName: undefined,
    createdAt: context.nowMs,
    updatedAt: null,
    stamp: undefined,
  };
  requireReading(check, query);
  check.done();
  return withoutUndefined<QueryDoc>(query);
}

/** Returns the default command. For MongoDB it is the verb in the text. */
function commandOf({ engine, query }: NewQuery): string {
  return (engine === 'mongodb' ? verbOf(query) : undefined) ?? 'SELECT';
}

/** The members of an update. Absent ones stay unchanged. */
export type QueryChange = Omit<UpdateQueryRequest, 'queryId' | 'expectedVersion' | 'moreVersions'>;

/** A change whose source is known. Null, like an empty path or presentation, removes the member. */
export interface QueryPatch
  extends Omit<QueryChange, 'hubId' | 'context' | 'notNull' | 'cache' | 'sourceId' | 'tool'> {
  context?: Variable[] | undefined;
  /** True if `context` is that of a version, which was checked when it was made. */
  isRestored?: boolean;
  notNull?: readonly string[] | undefined;
  cache?: CachePolicy | null | undefined;
  source?: { id: string; engine: EngineName } | undefined;
  tool?: Tool | null | undefined;
}

type Part = (typeof parts)[keyof QueryDoc];
type MemberOf<P extends Part> = {
  [M in keyof QueryDoc]-?: (typeof parts)[M] extends P ? M : never;
}[keyof QueryDoc];

/** The members of a change that versions hold. */
export type VersionedChange = Pick<QueryChange, keyof QueryChange & MemberOf<'state'>>;

/** Returns the same document if the patch changes nothing. */
export function patchQuery(query: QueryDoc, patch: QueryPatch): QueryDoc {
  const check = createChecker();
  const { cache, notNull, path, tool, presentationJson } = query;
  const engine = patch.source?.engine ?? query.engine;
  const changed: Complete<Pick<QueryDoc, MemberOf<Exclude<Part, 'record'>>>> = {
    notNull: checkNotNull(check, patch.notNull ?? notNull ?? []),
    errors: checkErrors(check, patch.errors ?? query.errors, engine),
    sessionJson: checkSession(check, patch.sessionJson ?? query.sessionJson, {
      path: ['session'],
      engine,
    }),
    keepValues: (patch.keepValues ?? query.keepValues) || undefined,
    label: patch.label === undefined ? query.label : check.label(['label'], patch.label),
    parentNodeId: patch.parentNodeId ?? query.parentNodeId,
    ...checkStatementMembers(check, { engine, stored: query, sent: patch }),
    context: patchVariables(check, query, patch),
    sourceId: patch.source?.id ?? query.sourceId,
    engine,
    cache:
      patch.cache === undefined
        ? cache
        : (patch.cache && checkCache(check, ['cache'], patch.cache)) || undefined,
    ...checkNames(check, {
      path: patch.path ?? path,
      tool: patch.tool === undefined ? tool : patch.tool,
      presentationJson: patch.presentationJson ?? presentationJson,
    }),
  };
  const next = withoutUndefined<QueryDoc>({ ...query, ...changed });
  requireReading(check, next);
  check.done();
  return isSameState(next, query) && isSameIn(otherMembers, next, query) ? query : next;
}

/** How clients find and show a query. */
function checkNames(
  check: Checker,
  { path, tool, presentationJson }: Complete<Pick<QueryPatch, 'path' | 'tool' | 'presentationJson'>>,
): Complete<Pick<QueryDoc, MemberOf<'name'>>> {
  if (presentationJson) checkPresentation(check, presentationJson);
  if (tool) checkTool(check, tool);
  return {
    path: path ? check.path(['path'], path, isQueryPath) : undefined,
    tool: tool ? withoutUndefined<ToolDoc>({ name: tool.name, description: tool.description }) : undefined,
    toolName: tool?.name,
    isTool: tool ? 1 : undefined,
    presentationJson: presentationJson || undefined,
  };
}

function checkTool(check: Checker, { name, description }: Tool): void {
  check.text(['tool', 'description'], description, queryLimits.toolDescriptionLength);
  if (name !== undefined && !isToolName.test(name))
    check.fault(['tool', 'name'], `must match ${toolNamePattern}`);
}

function checkPresentation(check: Checker, text: string): void {
  const { max } = queryLimits.presentationBytes;
  const value = parseJson(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    check.fault(['presentation'], 'must be an object');
  else if (Buffer.byteLength(text) > max)
    check.fault(['presentation'], `must have at most ${max} bytes as JSON`);
}

/**
 * What each member says. A change of the `state` makes a version. A change of the `place` or of a `name` does not, and
 * versions hold no names. `record` members say which document it is.
 */
const parts = {
  label: 'state',
  command: 'state',
  query: 'state',
  context: 'state',
  cache: 'state',
  sourceId: 'state',
  engine: 'state',
  notNull: 'state',
  errors: 'state',
  sessionJson: 'state',
  transactionJson: 'state',
  keepValues: 'state',
  parentNodeId: 'place',
  path: 'name',
  tool: 'name',
  toolName: 'name',
  isTool: 'name',
  presentationJson: 'name',
  id: 'record',
  accountId: 'record',
  hubId: 'record',
  version: 'record',
  createdAt: 'record',
  updatedAt: 'record',
  stamp: 'record',
  // It follows from the path and who gave it.
  grantsByName: 'record',
} as const satisfies Record<keyof QueryDoc, 'state' | 'place' | 'name' | 'record'>;
const membersOf = (...wanted: string[]) =>
  (Object.keys(parts) as (keyof QueryDoc)[]).filter((name) => wanted.includes(parts[name]));
const stateMembers = membersOf('state');
const otherMembers = membersOf('place', 'name');
const nameMembers = membersOf('name');

const isSameIn = (members: (keyof QueryDoc)[], one: QueryDoc, other: QueryDoc): boolean =>
  members.every(
    (name) => one[name] === other[name] || JSON.stringify(one[name]) === JSON.stringify(other[name]),
  );

/** A copy without the members that are no part of a version. */
export function withoutNames(query: QueryDoc): QueryDoc {
  const rest = { ...query };
  for (const name of nameMembers) delete rest[name];
  return rest;
}

/** True if the queries differ at most in their place, names and presentation. */
export const isSameState = (one: QueryDoc, other: QueryDoc): boolean => isSameIn(stateMembers, one, other);

function checkCache(check: Checker, path: FieldPath, policy: CachePolicy): CacheDoc {
  const { maxAgeS, staleS, validate } = policy;
  const { cacheSeconds } = queryLimits;
  const cache: Complete<CacheDoc> = {
    maxAgeS: check.integer([...path, 'maxAgeS'], maxAgeS, cacheSeconds),
    staleS: staleS === undefined ? undefined : check.integer([...path, 'staleS'], staleS, cacheSeconds),
    validate: validate === undefined ? undefined : check.text([...path, 'validate'], validate, textLength),
  };
  return withoutUndefined<CacheDoc>(cache);
}

function checkNotNull(check: Checker, names: readonly string[]): string[] | undefined {
  const { notNull, columnNameLength } = queryLimits;
  if (names.length > notNull.max) check.fault(['notNull'], `must have at most ${notNull.max} entries`);
  const seen = names
    .slice(0, notNull.max)
    .map((name, i) => check.text(['notNull', i], name, columnNameLength));
  return seen.length === 0 ? undefined : [...new Set(seen)];
}

function checkErrors(check: Checker, errors: string | undefined, engine: EngineName): QueryDoc['errors'] {
  if (errors === undefined || errors === '') return undefined;
  check.oneOf(['errors'], errors, ['author']);
  if (engine === 'mongodb') check.fault(['errors'], 'is not for MongoDB, which has no RAISE or SIGNAL');
  return 'author';
}

function requireReading(check: Checker, { notNull, command }: Pick<QueryDoc, 'notNull' | 'command'>): void {
  if (notNull !== undefined && !isReadingCommand(command))
    check.fault(['notNull'], 'is allowed only with a command that reads, such as SELECT');
}

function checkVariables(check: Checker, path: FieldPath, variables: Variable[]): VariableDoc[] {
  const { max } = queryLimits.variables;
  if (variables.length > max) check.fault(path, `must have at most ${max} entries`);
  requireFewValues(path, variables);
  const seen = new Set<string>();
  return variables.slice(0, max).map((variable, index) => {
    const at = [...path, index];
    if (!variableName.test(variable.key)) {
      check.fault(
        [...at, 'key'],
        `must be a letter or underscore, then up to ${variableNameLength.max - 1} letters, digits or underscores`,
      );
    }
    if (seen.has(variable.key)) check.fault([...at, 'key'], 'is already the key of another variable');
    seen.add(variable.key);
    if (variable.type !== undefined) check.oneOf([...at, 'type'], variable.type, declarableTypes);
    const hasValue = parseJson(variable.valueJson ?? 'null') !== undefined;
    if (!hasValue) check.fault([...at, 'value'], 'must be JSON');
    if (variable.secret === true && variable.valueJson !== undefined)
      check.fault([...at, 'value'], 'must be absent, because the variable is secret');
    const hasEnum = Array.isArray(parseJson(variable.enumJson ?? '[]'));
    if (!hasEnum) check.fault([...at, 'enum'], 'must be a JSON array');
    const fault = hasValue && hasEnum ? faultOfDefault(variable) : undefined;
    if (fault !== undefined) check.fault([...at, 'value'], fault);
    return toVariableDoc(variable);
  });
}

/** Variables that a client sends back, or restores, are those that were checked before, when other limits may have held. */
function patchVariables(
  check: Checker,
  { context }: QueryDoc,
  { context: sent, isRestored }: QueryPatch,
): VariableDoc[] {
  if (sent === undefined) return context;
  const variables = sent.map(toVariableDoc);
  if (isRestored) return variables;
  const isSame = JSON.stringify(variables) === JSON.stringify(context.map(toVariableDoc));
  return isSame ? context : checkVariables(check, ['context'], sent);
}

/** Counts the values in the text, because parsing too many takes long. Throws TOO_LARGE. */
function requireFewValues(path: FieldPath, variables: readonly Variable[]): void {
  const { max } = queryLimits.values;
  let count = 0;
  for (const { valueJson, enumJson } of variables)
    for (const json of [valueJson, enumJson]) if (json !== undefined) count += countValues(json);
  if (count <= max) return;
  const detail = `must have at most ${max} values in all defaults and lists of allowed values, with their members and elements`;
  throw new HubError('TOO_LARGE', `${fieldName(path)} ${detail}.`, { errors: [{ path, detail }] });
}

function toVariableDoc(variable: Variable): VariableDoc {
  const { key, valueJson, type, required, enumJson, description } = variable;
  const secret = variable.secret === true ? true : undefined;
  const doc: Complete<VariableDoc> = { key, valueJson, type, required, enumJson, description, secret };
  return withoutUndefined<VariableDoc>(doc);
}
