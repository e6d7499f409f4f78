/** The tools that a key can use: its queries with `tool`, its classifiers, and the summarizer. */

import { isReadingCommand } from '@datahub/contract/commands';
import { parseExact } from '@datahub/contract/exact-json';
import type { Query } from '@datahub/proto/catalog/v1/catalog';
import type { Classifier } from '@datahub/proto/ml/v1/ml';
import type { Tool } from '@modelcontextprotocol/server';
import type { FastifyRequest } from 'fastify';
import { isAllowed } from '../http/route.ts';
import { pinnedNames } from '../resources/documents/hub-document.ts';
import { type Described, toValueShapes } from '../resources/documents/value-schemas.ts';
import type { Upstreams } from '../upstreams.ts';
import { type Named, nameTools } from './tool-names.ts';

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

/** A key without the scope for a kind of tools has none of them. */
export async function listTools(
  request: FastifyRequest,
  { catalog, ml }: Pick<Upstreams, 'catalog' | 'ml'>,
): Promise<AgentTool[]> {
  const { context } = request;
  const [{ queries }, { classifiers }] = await Promise.all([
    isAllowed(request, 'queries:execute') ? catalog.listTools({}, context) : { queries: [] },
    isAllowed(request, 'classifiers:predict')
      ? ml.listClassifiers({ offset: 0, limit: classifiersMax }, context)
      : { classifiers: [] },
  ]);
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
  return [
    ...queries.map((query) => toQueryTool(query, nameOf(query.queryId))),
    ...classifiers.map((classifier) => toClassifierTool(classifier, nameOf(classifier.classifierId))),
    ...(isAllowed(request, 'ai:summarize') ? [summaryTool] : []),
  ].filter(({ reads }) => reads || isAllowed(request, 'queries:execute:write'));
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

/** The input schema of a query has the variables that the caller can set. */
export async function defineTool(
  tool: AgentTool,
  { request, catalog }: { request: FastifyRequest; catalog: Upstreams['catalog'] },
): Promise<Tool> {
  const { name, title, description, reads } = tool;
  return {
    name,
    title,
    description,
    inputSchema: await toInputSchema(tool, { request, catalog }),
    annotations: { readOnlyHint: reads, destructiveHint: !reads, openWorldHint: false },
  };
}

async function toInputSchema(
  tool: AgentTool,
  { request, catalog }: { request: FastifyRequest; catalog: Upstreams['catalog'] },
): Promise<Tool['inputSchema']> {
  if (tool.kind === 'classifier')
    return { type: 'object', properties: { text: { type: 'string', minLength: 1 } }, required: ['text'] };
  if (tool.kind === 'summary') {
    const texts = { type: 'array', minItems: 1, items: { type: 'string' } };
    const sentences = { type: 'integer', minimum: 1, maximum: 1_000 };
    return { type: 'object', properties: { texts, sentences }, required: ['texts'] };
  }
  const { queryId } = tool.query;
  const { query } = await catalog.getQuery({ queryId, signature: true }, request.context);
  const signatureJson = query?.signatureJson ?? '';
  const described = signatureJson === '' ? undefined : (parseExact(signatureJson) as Described);
  const values = toValueShapes(tool.query.context, described, pinnedNames(request)).filter(
    ({ isSecret }) => !isSecret,
  );
  const schema = {
    type: 'object',
    properties: Object.fromEntries(
      values.map(({ key, schema, description }) => [
        key,
        { ...schema, ...(description === undefined ? {} : { description }) },
      ]),
    ),
    required: values.filter(({ required }) => required).map(({ key }) => key),
  };
  // The SDK accepts only plain JSON, without the numbers that keep their digits.
  return JSON.parse(JSON.stringify(schema));
}
