/** The rules of stored queries, as pure functions. */

import { isReadingCommand } from '@datahub/contract/commands';
import type { EngineName } from '@datahub/contract/engines';
import { queryLimits, queryPathPattern, toolNamePattern } from '@datahub/contract/limits';
import type { FieldPath } from '@datahub/contract/validation-error';
import { declarableTypes } from '@datahub/contract/variable-types';
import type {
  CachePolicy,
  CreateQueryRequest,
  QueryWarning,
  Tool,
  Variable,
} from '@datahub/proto/catalog/v1/catalog';
import { verbOf } from '@datahub/statement/mongodb/command';
import { faultOfDefault } from '@datahub/statement/values';
import { type Checker, createChecker } from './check.ts';
import type { CacheDoc, QueryDoc, VariableDoc } from './documents.ts';
import type { MakeContext } from './hub.ts';

const { textLength, commandLength, variableNameLength } = queryLimits;
const isQueryPath = new RegExp(queryPathPattern);
const isToolName = new RegExp(toolNamePattern);
const isVerb = new RegExp(`^[A-Z]{${commandLength.min},${commandLength.max}}$`);
export const variableName = new RegExp(`^[A-Za-z_][A-Za-z0-9_]{0,${variableNameLength.max - 1}}$`);

/**
 * Returns warnings. Throws SQL_REJECTED, COMMAND_MISMATCH or VALIDATION if text, command and cache do not fit the
 * engine.
 */
export type CheckStatement = (
  query: Pick<QueryDoc, 'engine' | 'command' | 'query' | 'context' | 'cache'>,
  pooling: string | undefined,
) => QueryWarning[];

export interface NewQuery extends Omit<CreateQueryRequest, 'context' | 'notNull'> {
  parentNodeId: string;
  engine: EngineName;
  context?: Variable[] | undefined;
  notNull?: readonly string[];
}

export function makeQuery(input: NewQuery, context: MakeContext): QueryDoc {
  const check = createChecker();
  const query: QueryDoc = {
    id: context.createId('q', context.nowMs),
    accountId: context.accountId,
    version: 1,
    hubId: input.hubId,
    parentNodeId: input.parentNodeId,
    label: check.label(['label'], input.label),
    sourceId: input.sourceId,
    engine: input.engine,
    command: checkCommand(check, ['command'], input.command ?? commandOf(input)),
    query: check.text(['query'], input.query, textLength),
    context: checkVariables(check, ['context'], input.context ?? []),
    ...(input.cache === undefined ? {} : { cache: checkCache(check, ['cache'], input.cache) }),
    ...withNotNull(check, input.notNull ?? []),
    ...toNames(check, input),
    createdAt: context.nowMs,
    updatedAt: null,
  };
  requireReading(check, query);
  check.done();
  return query;
}

/** Returns the default command. For MongoDB it is the verb in the text. */
function commandOf({ engine, query }: NewQuery): string {
  return (engine === 'mongodb' ? verbOf(query) : undefined) ?? 'SELECT';
}

export interface QueryPatch {
  label?: string | undefined;
  parentNodeId?: string | undefined;
  command?: string | undefined;
  context?: Variable[] | undefined;
  notNull?: readonly string[] | undefined;
  query?: string | undefined;
  /** Null removes the cache. */
  cache?: CachePolicy | null | undefined;
  source?: { id: string; engine: EngineName } | undefined;
  /** An empty text removes the path. */
  path?: string | undefined;
  /** Null removes the tool. */
  tool?: Tool | null | undefined;
  /** An empty text removes the presentation. */
  presentationJson?: string | undefined;
}

/** Returns the same document if the patch changes nothing. */
export function patchQuery(query: QueryDoc, patch: QueryPatch): QueryDoc {
  const check = createChecker();
  const { cache, notNull, path, tool, toolName: _, isTool: _isTool, presentationJson, ...rest } = query;
  const nextCache =
    patch.cache === undefined ? cache : patch.cache && checkCache(check, ['cache'], patch.cache);
  const next: QueryDoc = {
    ...rest,
    ...withNotNull(check, patch.notNull ?? notNull ?? []),
    label: patch.label === undefined ? query.label : check.label(['label'], patch.label),
    parentNodeId: patch.parentNodeId ?? query.parentNodeId,
    command: patch.command === undefined ? query.command : checkCommand(check, ['command'], patch.command),
    query: patch.query === undefined ? query.query : check.text(['query'], patch.query, textLength),
    context: patch.context === undefined ? query.context : checkVariables(check, ['context'], patch.context),
    sourceId: patch.source?.id ?? query.sourceId,
    engine: patch.source?.engine ?? query.engine,
    ...(nextCache ? { cache: nextCache } : {}),
    ...toNames(check, {
      path: patch.path ?? path,
      tool: patch.tool === undefined ? tool : patch.tool,
      presentationJson: patch.presentationJson ?? presentationJson,
    }),
  };
  requireReading(check, next);
  check.done();
  return isSameState(next, query) && isSamePlace(next, query) ? query : next;
}

type Names = Pick<QueryDoc, 'path' | 'tool' | 'toolName' | 'isTool' | 'presentationJson'>;

/** How clients find and show a query. */
function toNames(
  check: Checker,
  { path: pathText, tool, presentationJson }: Pick<QueryPatch, 'path' | 'tool' | 'presentationJson'>,
): Names {
  const path = pathText && check.path(['path'], pathText, isQueryPath);
  if (presentationJson) checkPresentation(check, presentationJson);
  return {
    ...(path ? { path } : {}),
    ...(tool ? toTool(check, tool) : {}),
    ...(presentationJson ? { presentationJson } : {}),
  };
}

function toTool(check: Checker, { name, description }: Tool): Omit<Names, 'path' | 'presentationJson'> {
  check.text(['tool', 'description'], description, queryLimits.toolDescriptionLength);
  if (name === undefined) return { tool: { description }, isTool: 1 };
  if (!isToolName.test(name)) check.fault(['tool', 'name'], `must match ${toolNamePattern}`);
  return { tool: { name, description }, toolName: name, isTool: 1 };
}

function checkPresentation(check: Checker, text: string): void {
  const { max } = queryLimits.presentationBytes;
  const value = parseJson(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    check.fault(['presentation'], 'must be an object');
  else if (Buffer.byteLength(text) > max)
    check.fault(['presentation'], `must have at most ${max} bytes as JSON`);
}

function isSamePlace(one: QueryDoc, other: QueryDoc): boolean {
  const textOf = ({ parentNodeId, path, tool, presentationJson }: QueryDoc) =>
    JSON.stringify([parentNodeId, path, tool, presentationJson]);
  return textOf(one) === textOf(other);
}

/** A copy without the members that are no part of a version. */
export function withoutNames(query: QueryDoc): QueryDoc {
  const { path: _p, tool: _t, toolName: _n, isTool: _i, presentationJson: _j, ...rest } = query;
  return rest;
}

/** True if the queries differ at most in their place, names and presentation. */
export function isSameState(one: QueryDoc, other: QueryDoc): boolean {
  return runText(one) === runText(other) && one.label === other.label;
}

/** Everything that an execution depends on, as one text to compare. */
function runText(query: QueryDoc): string {
  const { command, query: text, context, cache, sourceId, engine, notNull } = query;
  return JSON.stringify([command, text, context, cache, sourceId, engine, notNull]);
}

function checkCommand(check: Checker, path: FieldPath, text: string): string {
  const command = text.trim().toUpperCase();
  if (!isVerb.test(command)) check.fault(path, 'must be one verb, such as SELECT or UPDATE');
  return command;
}

function checkCache(check: Checker, path: FieldPath, policy: CachePolicy): CacheDoc {
  const { maxAgeS, staleS, validate } = policy;
  const { cacheSeconds } = queryLimits;
  return {
    maxAgeS: check.integer([...path, 'maxAgeS'], maxAgeS, cacheSeconds),
    ...(staleS === undefined ? {} : { staleS: check.integer([...path, 'staleS'], staleS, cacheSeconds) }),
    ...(validate === undefined ? {} : { validate: check.text([...path, 'validate'], validate, textLength) }),
  };
}

function withNotNull(check: Checker, names: readonly string[]): Pick<QueryDoc, 'notNull'> {
  const { notNull, columnNameLength } = queryLimits;
  if (names.length > notNull.max) check.fault(['notNull'], `must have at most ${notNull.max} entries`);
  const seen = names
    .slice(0, notNull.max)
    .map((name, i) => check.text(['notNull', i], name, columnNameLength));
  return seen.length === 0 ? {} : { notNull: [...new Set(seen)] };
}

function requireReading(check: Checker, { notNull, command }: QueryDoc): void {
  if (notNull !== undefined && !isReadingCommand(command))
    check.fault(['notNull'], 'is allowed only with a command that reads, such as SELECT');
}

function checkVariables(check: Checker, path: FieldPath, variables: Variable[]): VariableDoc[] {
  const { max } = queryLimits.variables;
  if (variables.length > max) check.fault(path, `must have at most ${max} entries`);
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

/** Returns undefined for invalid JSON. The gateway sends only JSON, but other callers of the catalog may not. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function toVariableDoc(variable: Variable): VariableDoc {
  return {
    key: variable.key,
    ...(variable.valueJson === undefined ? {} : { valueJson: variable.valueJson }),
    ...(variable.type === undefined ? {} : { type: variable.type }),
    ...(variable.required === undefined ? {} : { required: variable.required }),
    ...(variable.enumJson === undefined ? {} : { enumJson: variable.enumJson }),
    ...(variable.description === undefined ? {} : { description: variable.description }),
    ...(variable.secret === true ? { secret: true } : {}),
  };
}
