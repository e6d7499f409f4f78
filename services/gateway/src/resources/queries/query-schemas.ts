/** The JSON Schemas of stored queries. */

import { queryLimits, toolNamePattern } from '@datahub/contract/limits';
import {
  count,
  engine,
  id,
  label,
  list,
  object,
  orNull,
  queryPath,
  readOnly,
  record,
  text,
  textOrNull,
  time,
} from '../../http/json-schema.ts';
import type { FieldPointers } from '../../http/request-error.ts';
import { session, sessionOf } from '../session-schema.ts';
import { callSpans } from './figures.ts';
import { signature, signatureOrNull, sqlFault, warnings } from './signatures.ts';
import { command, queryText, transaction, transactionOf } from './statement-schemas.ts';

const { variables, variableNameLength, cacheSeconds } = queryLimits;

export const context = {
  type: ['array', 'null'],
  maxItems: variables.max,
  items: object(
    {
      key: { type: 'string', minLength: variableNameLength.min, maxLength: variableNameLength.max },
      value: {},
      type: { type: 'string', maxLength: 32 },
      required: { type: 'boolean' },
      enum: { type: 'array', minItems: 1, maxItems: 1_000 },
      description: { type: 'string', maxLength: 2_000 },
      secret: { type: 'boolean' },
    },
    ['key'],
  ),
} as const;

const seconds = { type: 'integer', minimum: cacheSeconds.min, maximum: cacheSeconds.max } as const;
const cache = orNull(object({ maxAgeS: seconds, staleS: seconds, validate: queryText }, ['maxAgeS']));
export const notNull = {
  type: ['array', 'null'],
  maxItems: queryLimits.notNull.max,
  items: {
    type: 'string',
    minLength: queryLimits.columnNameLength.min,
    maxLength: queryLimits.columnNameLength.max,
  },
} as const;

/** `author`: errors contain the texts of RAISE and SIGNAL. */
export const errors = { type: ['string', 'null'], enum: ['author', null] } as const;

/** True: the records of runs contain the values of the variables. */
const keepValues = { type: ['boolean', 'null'] } as const;

const { toolDescriptionLength } = queryLimits;
const tool = orNull(
  object(
    {
      name: { type: 'string', pattern: toolNamePattern },
      description: {
        type: 'string',
        minLength: toolDescriptionLength.min,
        maxLength: toolDescriptionLength.max,
      },
    },
    ['description'],
  ),
);
/** What the console draws. The hub stores it and does not read it. */
const presentation = orNull(
  object({
    chart: { type: ['object', 'null'] },
    columns: { type: ['object', 'array', 'null'] },
    pinned: { type: ['boolean', 'object', 'null'] },
  }),
);

/** The members of a query apart from its names, its place, its text and its source. */
const settings = {
  ...{ command, context, cache, notNull, errors, session, keepValues, tool, presentation },
  ...transaction,
} as const;

export const createQueryBody = object(
  {
    hubId: id,
    label,
    sourceId: id,
    query: queryText,
    parentNodeId: id,
    path: orNull(queryPath),
    ...settings,
    ...readOnly('queryId', 'nodeId', 'nodeType', 'createdAt', 'updatedAt'),
  },
  ['hubId', 'label', 'sourceId'],
);

export const updateQueryBody = object({
  meta: object({ label, parentNodeId: id, hubId: id, path: orNull(queryPath), ...readOnly('engine') }),
  config: object({
    ...settings,
    query: object({ query: queryText, ...readOnly('queryId') }),
    source: object({ sourceId: id, ...readOnly('engine') }),
  }),
  ...readOnly(
    'signature',
    'state',
    'problem',
    'drift',
    'latest',
    'stats',
    'queryId',
    'createdAt',
    'updatedAt',
  ),
});

const { meta: metaBody, config: configBody } = updateQueryBody.properties;
const placesIn = (at: string, { properties }: { properties: object }): FieldPointers =>
  Object.fromEntries(Object.keys(properties).map((name) => [name, `${at}/${name}`]));

/** Maps the fields of the call to pointers into the body of an update. */
export const updateQueryPointers = (): FieldPointers => ({
  ...placesIn('/meta', metaBody),
  ...placesIn('/config', configBody),
  query: '/config/query/query',
  sourceId: '/config/source/sourceId',
});

export const queryVariable = record(
  {
    key: text,
    value: {},
    type: text,
    required: { type: 'boolean' },
    enum: { type: 'array' },
    description: text,
    secret: { type: 'boolean' },
  },
  ['value', 'type', 'required', 'enum', 'description', 'secret'],
);
const meta = record({ engine, hubId: text, label: text, parentNodeId: text, path: text }, ['path']);
/** What a query does, apart from its text and source. */
export const behaviour = {
  command: text,
  context: list(queryVariable),
  notNull: list(text),
  errors: { type: 'string', enum: ['author'] },
  session: sessionOf,
  ...transactionOf,
  keepValues: { type: 'boolean' },
  cache: record({ maxAgeS: count, staleS: count, validate: text }, ['staleS', 'validate']),
} as const;
export const optionalBehaviour = [
  ...(['notNull', 'errors', 'session', 'cache', 'keepValues'] as const),
  ...(['steps', 'isolation', 'retry'] as const),
] as const;
const configWith = <const S>(context: S) =>
  record(
    {
      ...behaviour,
      context,
      query: record({ queryId: text, query: text }),
      source: record({ sourceId: text, engine }),
      tool: record({ name: text, description: text }, ['name']),
      presentation: { type: 'object' },
    },
    [...optionalBehaviour, 'tool', 'presentation'],
  );
const config = configWith(behaviour.context);
export const createdQuery = record({ meta, config: configWith({ type: 'null' }), signature, warnings }, [
  'signature',
  'warnings',
]);
/** The answer to an update. */
export const savedQuery = record({ signature, warnings }, ['signature', 'warnings']);
/** What the source said of the query when it was last described. */
export const described = {
  state: { type: 'string', enum: ['broken'] },
  problem: record({ code: text, detail: text, sql: sqlFault }, ['sql']),
  drift: list(
    record(
      {
        name: text,
        change: { type: 'string', enum: ['added', 'removed', 'changed'] },
        from: { type: 'object' },
        to: { type: 'object' },
      },
      ['from', 'to'],
    ),
  ),
} as const;
/** Which of its versions the query is. */
const latest = record({ number: count, at: time, keyId: textOrNull });
const ifAsked = { signature: signatureOrNull, latest } as const;
const optional = ['state', 'problem', 'drift', 'signature', 'latest'] as const;
export const query = record({ meta, config, ...described, ...ifAsked }, [...optional]);
const listedQuery = record({ meta, config, ...described, ...ifAsked, stats: callSpans }, [
  ...optional,
  'stats',
]);
export const queries = list(listedQuery);
