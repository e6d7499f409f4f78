/** The tools that a key can use: its queries with `tool`, its classifiers, and the summarizer. */

import { hash } from 'node:crypto';
import { isReadingCommand } from '@datahub/contract/commands';
import { withScope } from '@datahub/contract/roles';
import type { Scope } from '@datahub/contract/scopes';
import type { Query } from '@datahub/proto/catalog/v1/catalog';
import type { Principal } from '@datahub/proto/common/v1/principal';
import type { Classifier } from '@datahub/proto/ml/v1/ml';
import { normalized } from '@datahub/service-kit/normalized';
import { nextTurn } from '@datahub/service-kit/yield-to-loop';
import type { Tool } from '@modelcontextprotocol/server';
import type { FastifyRequest } from 'fastify';
import { pinnedNames } from '../resources/documents/hub-document.ts';
import { type Described, type Schema, toValueShapes } from '../resources/documents/value-schemas.ts';
import { JsonText } from '../response/json-splices.ts';
import type { Upstreams } from '../upstreams.ts';

export type AgentTool =
  | { kind: 'query'; name: string; title: string; description: string; reads: boolean; query: Query }
  | {
      kind: 'classifier';
      name: string;
      title: string;
      description: string;
      reads: true;
      classifierId: string;
    }
  | { kind: 'summary'; name: string; title: string; description: string; reads: true };

/** Names of tools that search and run others. */
export const metaNames = { search: 'search_tools', describe: 'describe_tool', run: 'run_tool' } as const;
const summaryName = 'summarize';
const classifiersMax = 1_000;

export interface ListedTools {
  tools: AgentTool[];
  /** False if the key has more of them. */
  areAll: boolean;
}

/** A key without the scope for a kind of tools has none of them. */
export async function listTools(
  request: FastifyRequest,
  { catalog, ml }: Pick<Upstreams, 'catalog' | 'ml'>,
): Promise<ListedTools> {
  // Calls that arrive together would else share a turn of the event loop.
  await nextTurn();
  const { context } = request;
  const acting = (scope: Scope) => context.principal && withScope(context.principal, scope);
  const [executor, writer] = [acting('queries:execute'), acting('queries:execute:write')];
  const [{ queries: found, truncated }, { classifiers, total }] = await Promise.all([
    (executor ?? writer) ? catalog.listTools({}, context) : { queries: [], truncated: false },
    acting('classifiers:predict')
      ? ml.listClassifiers({ offset: 0, limit: classifiersMax }, context)
      : { classifiers: [], total: 0 },
  ]);
  const queries = found.filter(({ command, hubId }) =>
    isHubOf(isReadingCommand(command) ? executor : writer, hubId),
  );
  const named: Named[] = [
    ...queries.map(({ queryId: id, hubId, tool, path, label }) => ({
      id,
      hubId,
      setName: tool?.name,
      path,
      label,
    })),
    ...classifiers.map(({ classifierId: id, name }) => ({ id, label: `classify__${name}` })),
  ];
  const names = await nameTools(named, {
    reserved: [...Object.values(metaNames), summaryName],
    hubNameOf: async (hubId) => {
      const { hub } = await catalog.getHub({ hubId }, context);
      return hub?.path ?? hub?.label ?? '';
    },
  });
  const nameOf = (id: string) => names.get(id) as string;
  const tools = [
    ...queries.map((query) => toQueryTool(query, nameOf(query.queryId))),
    ...classifiers.map((classifier) => toClassifierTool(classifier, nameOf(classifier.classifierId))),
    ...(acting('ai:summarize') ? [summaryTool] : []),
  ];
  return { tools, areAll: !truncated && classifiers.length === total };
}

/** A person can have another role in each hub. */
export function isHubOf(principal: Principal | undefined, hubId: string): boolean {
  const hubIds = principal?.limits?.hubIds ?? [];
  return principal !== undefined && (hubIds.length === 0 || hubIds.includes(hubId));
}

const toQueryTool = (query: Query, name: string): AgentTool => ({
  kind: 'query',
  name,
  title: query.label,
  description: query.tool?.description ?? '',
  reads: isReadingCommand(query.command),
  query,
});

const toClassifierTool = ({ classifierId, name: title }: Classifier, name: string): AgentTool => ({
  kind: 'classifier',
  name,
  title,
  description: 'Predicts the label of a text, with its confidence.',
  reads: true,
  classifierId,
});

const summaryTool: AgentTool = {
  kind: 'summary',
  name: summaryName,
  title: 'Summarize',
  description: 'Summarizes texts in a few of their own sentences.',
  reads: true,
};

/** The input schema of a query has the variables that the caller can set. Its numbers keep their digits as JSON. */
export async function defineTool(
  tool: AgentTool,
  { request, catalog }: { request: FastifyRequest; catalog: Upstreams['catalog'] },
): Promise<Tool> {
  const { name, title, description, reads } = tool;
  const described = tool.kind === 'query' ? await readSignature(tool.query, { request, catalog }) : undefined;
  return {
    name,
    title,
    description,
    inputSchema: toInputSchema(tool, described, request),
    outputSchema: toOutputSchema(tool, described),
    annotations: { readOnlyHint: reads, destructiveHint: !reads, openWorldHint: false },
  };
}

async function readSignature(
  { queryId }: Query,
  { request, catalog }: { request: FastifyRequest; catalog: Upstreams['catalog'] },
): Promise<Described | undefined> {
  const { query } = await catalog.getQuery({ queryId, signature: true }, request.context);
  const signatureJson = query?.signatureJson ?? '';
  return signatureJson === '' ? undefined : (JSON.parse(signatureJson) as Described);
}

/** Clients refuse results that do not fit, so it has nothing that a change in the database could make wrong. */
function toOutputSchema({ kind }: AgentTool, described: Described | undefined): Tool['inputSchema'] {
  const text = { type: 'string' };
  const number = { type: 'number' };
  if (kind === 'classifier') {
    const score = { type: 'object', properties: { label: text, confidence: number } };
    const scores = { type: 'array', items: score };
    return { type: 'object', properties: { label: text, confidence: number, scores, otherScore: number } };
  }
  if (kind === 'summary') return { type: 'object', properties: { summary: text }, required: ['summary'] };
  const columns = described?.columns.map(({ name, type }) => [name, { description: type }]) ?? [];
  const row = { type: 'object', properties: Object.fromEntries(columns) };
  const flag = { type: 'boolean' };
  return {
    type: 'object',
    properties: { data: { type: 'array', items: row }, truncated: flag, moreResults: flag, whole: text },
    required: ['data'],
  };
}

function toInputSchema(
  tool: AgentTool,
  described: Described | undefined,
  request: FastifyRequest,
): Tool['inputSchema'] {
  if (tool.kind === 'classifier')
    return { type: 'object', properties: { text: { type: 'string', minLength: 1 } }, required: ['text'] };
  if (tool.kind === 'summary') {
    const texts = { type: 'array', minItems: 1, items: { type: 'string' } };
    const sentences = { type: 'integer', minimum: 1, maximum: 1_000 };
    return { type: 'object', properties: { texts, sentences }, required: ['texts'] };
  }
  const values = toValueShapes(tool.query.context, described, pinnedNames(request)).filter(
    ({ isSecret }) => !isSecret,
  );
  return {
    type: 'object',
    properties: Object.fromEntries(
      values.map(({ key, schema, description }) => [
        key,
        { ...withoutLongDefault(schema), ...(description === undefined ? {} : { description }) },
      ]),
    ),
    required: values.filter(({ required }) => required).map(({ key }) => key),
  };
}

const defaultLengthMax = 2_000;

/** An agent reads every default. The query takes one that is left out here, too, if the agent sends no value. */
function withoutLongDefault({ default: value, ...schema }: Schema): Schema {
  const isLong = value instanceof JsonText && value.text.length > defaultLengthMax;
  return value === undefined || isLong ? schema : { ...schema, default: value };
}

interface Named {
  id: string;
  /** The hub of a query. */
  hubId?: string;
  /** Unique in the account. */
  setName?: string | undefined;
  path?: string | undefined;
  label: string;
}

/** MCP clients accept names of at most this length. */
const lengthMax = 64;
const hashLength = 8;

/**
 * Returns the names by id. All tools that would have the same name get the name of their hub in front, so that the
 * names do not depend on an order. `reserved` names are taken.
 */
async function nameTools(
  tools: readonly Named[],
  { reserved, hubNameOf }: { reserved: readonly string[]; hubNameOf(hubId: string): Promise<string> },
): Promise<Map<string, string>> {
  const taken = new Map<string, number>(reserved.map((name) => [name, 1]));
  for (const { setName } of tools) if (setName !== undefined) taken.set(setName, 1);
  const wanted = tools.map((tool) => ({ tool, name: nameOf(tool) }));
  for (const { tool, name } of wanted)
    if (tool.setName === undefined) taken.set(name, (taken.get(name) ?? 0) + 1);
  const used = new Set(reserved);
  const names = new Map<string, string>();
  const give = (id: string, name: string) => {
    const unique = name.length > lengthMax || used.has(name) ? shorten(name, id) : name;
    used.add(unique);
    names.set(id, unique);
  };
  const colliding = wanted.filter(({ tool, name }) =>
    tool.setName === undefined ? (taken.get(name) ?? 0) > 1 : reserved.includes(name),
  );
  const isColliding = new Set(colliding.map(({ tool }) => tool.id));
  for (const { tool, name } of wanted.toSorted(bySetName)) if (!isColliding.has(tool.id)) give(tool.id, name);
  for (const { tool, name } of colliding)
    give(tool.id, tool.hubId === undefined ? name : `${toName(await hubNameOf(tool.hubId))}__${name}`);
  return names;
}

const bySetName = (one: { tool: Named }, other: { tool: Named }): number =>
  Number(other.tool.setName !== undefined) - Number(one.tool.setName !== undefined);

const nameOf = ({ setName, path, label }: Named): string =>
  setName ?? path?.replaceAll('/', '__') ?? toName(label);

/** A name of ASCII letters, digits and underscores. */
export function toName(text: string): string {
  const words = normalized(text, 'NFKD').match(/[A-Za-z0-9_-]+/g) ?? [];
  return words.join('_').toLowerCase() || 'tool';
}

function shorten(name: string, id: string): string {
  const suffix = hash('sha256', id, 'hex').slice(0, hashLength);
  return `${name.slice(0, lengthMax - hashLength - 1)}_${suffix}`;
}
