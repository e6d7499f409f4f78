/** Stored queries: their definitions. Running them is in `execute.ts`. */

import type { Variable } from '@datahub/proto/catalog/v1/catalog';
import type { FastifyRequest } from 'fastify';
import { expectedVersions } from '../http/if-match.ts';
import { parseExact } from '../http/json-parser.ts';
import { readPage, setPageHeaders } from '../http/pagination.ts';
import { readFlag, requireText } from '../http/query-params.ts';
import { type Handler, setVersion } from '../http/request-context.ts';
import type { Upstreams } from '../upstreams.ts';
import { createDescriber } from './describe-on-save.ts';
import { id, label, object, readOnly } from './request-schemas.ts';
import { toQueryJson } from './to-json.ts';

const paging = { limitMax: 10_000 };
const text = { type: 'string', minLength: 1, maxLength: 262_144 } as const;
const command = { type: 'string', maxLength: 32 } as const;

const context = {
  type: ['array', 'null'],
  maxItems: 200,
  items: object(
    {
      key: { type: 'string', minLength: 1, maxLength: 64 },
      value: {},
      type: { type: 'string', maxLength: 32 },
      required: { type: 'boolean' },
      enum: { type: 'array', minItems: 1, maxItems: 1_000 },
      description: { type: 'string', maxLength: 2_000 },
    },
    ['key'],
  ),
} as const;

export const createQueryBody = object(
  {
    hubId: id,
    label,
    sourceId: id,
    query: text,
    command,
    parentNodeId: id,
    context,
    ...readOnly('queryId', 'nodeId', 'nodeType', 'createdAt', 'updatedAt'),
  },
  ['hubId', 'label', 'sourceId', 'query'],
);

export const updateQueryBody = object({
  meta: object({ label, parentNodeId: id, ...readOnly('engine', 'hubId') }),
  config: object({
    command,
    context,
    query: object({ query: text, ...readOnly('queryId') }),
    source: object({ sourceId: id, ...readOnly('engine') }),
  }),
  ...readOnly('signature', 'queryId', 'createdAt', 'updatedAt'),
});

interface VariableBody {
  key: string;
  value?: unknown;
  type?: string;
  required?: boolean;
  enum?: unknown[];
  description?: string;
}

interface CreateBody {
  hubId: string;
  label: string;
  sourceId: string;
  query: string;
  command?: string;
  parentNodeId?: string;
  context?: VariableBody[] | null;
}

interface UpdateBody {
  meta?: { label?: string; parentNodeId?: string };
  config?: {
    command?: string;
    context?: VariableBody[] | null;
    query?: { query?: string };
    source?: { sourceId?: string };
  };
}

/** The body with its defaults as they were written, digit by digit. */
function exactBody<T>(request: FastifyRequest): T {
  const exactText = request.parsed?.exactText;
  return (exactText === undefined ? request.body : parseExact(exactText)) as T;
}

function toVariables(context: VariableBody[] | null | undefined): { variables: Variable[] } | undefined {
  if (context === undefined || context === null) return undefined;
  const variables = context.map(({ value, enum: allowed, ...rest }) => ({
    ...rest,
    ...(value === undefined ? {} : { valueJson: JSON.stringify(value) }),
    ...(allowed === undefined ? {} : { enumJson: JSON.stringify(allowed) }),
  }));
  return { variables };
}

const queryIdOf = (request: FastifyRequest) => (request.params as { queryId: string }).queryId;

export function createQueryHandlers({ catalog, executor }: Upstreams) {
  const describer = createDescriber(executor);
  return {
    create: async (request, reply) => {
      const { hubId, label, sourceId, query: queryText, command, parentNodeId } = request.body as CreateBody;
      const context = toVariables(exactBody<CreateBody>(request).context);
      const { query } = await catalog.createQuery(
        { hubId, label, sourceId, query: queryText, command, parentNodeId, context },
        request.context,
      );
      setVersion(reply, query?.version);
      describer.saved(query, request.context);
      return query === undefined ? {} : toQueryJson(query, { created: true });
    },

    list: async (request, reply) => {
      const page = readPage(request, paging);
      const hubId = requireText(request, 'hubId');
      const { queries, total } = await catalog.listQueries({ hubId, page }, request.context);
      setPageHeaders(reply, page, total);
      return queries.map((query) => toQueryJson(query, { created: false }));
    },

    get: async (request, reply) => {
      const signature = readFlag(request, 'signature');
      const { query } = await catalog.getQuery({ queryId: queryIdOf(request), signature }, request.context);
      setVersion(reply, query?.version);
      if (query === undefined) return {};
      const body = toQueryJson(query, { created: false });
      if (!signature || query.signatureJson !== '') return body;
      return { ...body, signature: await describer.describe(query, request.context) };
    },

    update: async (request, reply) => {
      const { meta, config } = request.body as UpdateBody;
      const context = toVariables(exactBody<UpdateBody>(request).config?.context);
      const { query } = await catalog.updateQuery(
        {
          queryId: queryIdOf(request),
          label: meta?.label,
          parentNodeId: meta?.parentNodeId,
          command: config?.command,
          context,
          query: config?.query?.query,
          sourceId: config?.source?.sourceId,
          ...expectedVersions(request),
        },
        request.context,
      );
      setVersion(reply, query?.version);
      describer.saved(query, request.context);
      return {};
    },

    remove: async (request) => {
      await catalog.deleteQuery(
        { queryId: queryIdOf(request), ...expectedVersions(request) },
        request.context,
      );
      return {};
    },
  } satisfies Record<string, Handler>;
}
