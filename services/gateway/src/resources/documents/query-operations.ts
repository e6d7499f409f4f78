/** A stored query as parts of an OpenAPI document: schemas of its values and rows, and its operation over GET. */

import { isReadingCommand } from '@datahub/contract/commands';
import type { Query } from '@datahub/proto/catalog/v1/catalog';
import { inAllFormats } from '../../response/format.ts';
import { executeBody, execution } from '../execute.ts';
import {
  type Described,
  exampleOf,
  type Schema,
  toRowSchema,
  toValueShapes,
  type ValueShape,
} from './value-schemas.ts';

export interface DocumentedQuery {
  /** Unique in the document. */
  name: string;
  query: Query;
  /** Of the hub of the query. */
  hubPath?: string | undefined;
  /** Undefined if the query has no signature yet. */
  described: Described | undefined;
}

export interface QueryParts {
  name: string;
  schemas: Record<string, Schema>;
  /** The operations by path. A query that writes has none. */
  paths: Record<string, object>;
  /** The entry in `x-datahub-queries`, which client generators read. */
  listed: object;
  executionRef: string;
  resultRef: string;
  /** A request body that executes the query. */
  example: object;
}

/** How a call names the query: by paths if hub and query have one, because these are the same in each environment. */
type Names = { queryId: string } | { hubId: string; path: string };

const refer = (name: string): string => `#/components/schemas/${name}`;

export function toQueryParts(documented: DocumentedQuery, pinned: ReadonlySet<string>): QueryParts {
  const { name, query, hubPath } = documented;
  const { queryId, label, command, path } = query;
  const names: Names = hubPath === undefined || path === undefined ? { queryId } : { hubId: hubPath, path };
  const described = documented.described?.problem === undefined ? documented.described : undefined;
  const values = toValueShapes(query.context, described, pinned);
  const reads = isReadingCommand(command);
  // Secret variables are not accepted in addresses.
  const inUrl = values.filter(({ isSecret }) => !isSecret);
  const needsBody = values.some(({ isSecret, required }) => isSecret && required);
  // OpenAPI allows only ASCII in the names of components.
  const base = /^\w+$/.test(name) ? name : queryId;
  const [row, context, executionName, result] = ['Row', 'Context', 'Execution', 'Result'].map(
    (part) => `${base}_${part}`,
  ) as [string, string, string, string];
  const describes = { label, text: describe(documented) };
  return {
    name,
    schemas: {
      [row]: toRowSchema(described) ?? toUndescribedRow(command, described),
      [context]: toContext(values),
      [executionName]: toExecution(names, refer(context), values),
      [result]: {
        ...execution,
        properties: { ...execution.properties, data: { type: 'array', items: { $ref: refer(row) } } },
      },
    },
    paths:
      reads && !needsBody
        ? {
            [toDataPath(names)]: {
              get: toRead(name, describes, { values: inUrl, described, result }),
            },
          }
        : {},
    listed: {
      name,
      ...names,
      path,
      label,
      command,
      reads,
      // Without a signature, the text may use variables that are not declared.
      knowsVariables: described !== undefined,
      context: refer(context),
      row: refer(row),
    },
    example: { summary: label, value: toExample(names, values) },
    executionRef: refer(executionName),
    resultRef: refer(result),
  };
}

const toDataPath = (names: Names): string =>
  'queryId' in names ? `/v1/queries/${names.queryId}/data` : `/v1/hubs/${names.hubId}/data/${names.path}`;

function describe({ query: { command }, described }: DocumentedQuery): string {
  const state =
    described === undefined
      ? ' The hub has no signature of it yet.'
      : described.problem === undefined
        ? ''
        : ` The database rejects it (${described.problem.code}).`;
  return `A stored query with the command ${command}.${state}`;
}

/** Additional names are allowed, because the hub ignores values that the query does not use. */
function toContext(values: readonly ValueShape[]): Schema {
  const required = values.filter((value) => value.required).map(({ key }) => key);
  return {
    type: 'object',
    properties: Object.fromEntries(
      values.map(({ key, schema, description }) => [
        key,
        { ...schema, ...(description === undefined ? {} : { description }) },
      ]),
    ),
    ...(required.length > 0 ? { required } : {}),
  };
}

/** The options of an execution without those that change the form of the answer. */
const executionOptions = {
  ...executeBody.properties.options,
  properties: Object.fromEntries(
    Object.entries(executeBody.properties.options.properties).filter(
      ([name]) => name !== 'annotate' && name !== 'results',
    ),
  ),
};

function toExecution(names: Names, contextRef: string, values: readonly ValueShape[]): Schema {
  const needsContext = values.some(({ required }) => required);
  return {
    type: 'object',
    additionalProperties: false,
    properties: {
      ...Object.fromEntries(
        Object.entries(names).map(([name, value]) => [name, { type: 'string', const: value }]),
      ),
      // Null is the same as no context.
      context: needsContext ? { $ref: contextRef } : { anyOf: [{ $ref: contextRef }, { type: 'null' }] },
      options: executionOptions,
    },
    required: [...Object.keys(names), ...(needsContext ? ['context'] : [])],
  };
}

function toExample(names: Names, values: readonly ValueShape[]): object {
  const needed = values.filter(({ required }) => required).map(({ key, example }) => [key, example]);
  return { ...names, ...(needed.length === 0 ? {} : { context: Object.fromEntries(needed) }) };
}

/** With `numbers: "string"`, these are texts. */
const integerOrText = { type: ['integer', 'string'] };
const affected = new Set(['INSERT', 'UPDATE', 'DELETE', 'REPLACE', 'MERGE']);

/** The answer of a write without columns has the number of changed rows. */
function toUndescribedRow(command: string, described: Described | undefined): Schema {
  if (described === undefined || !affected.has(command)) return { type: 'object' };
  return {
    type: 'object',
    properties: { affectedRows: integerOrText, insertId: integerOrText },
    required: ['affectedRows'],
    additionalProperties: false,
  };
}

interface ReadDescription {
  values: readonly ValueShape[];
  described: Described | undefined;
  result: string;
}

function toRead(
  name: string,
  { label, text }: { label: string; text: string },
  { values, described, result }: ReadDescription,
): object {
  return {
    summary: label,
    description: `${text} Needs the scope \`queries:execute\`.`,
    operationId: name,
    parameters: [...values.map(toParameter), ...(described === undefined ? [otherValues] : []), ...options],
    responses: toResponses({ $ref: refer(result) }),
  };
}

function toParameter({ key, inUrl, required, description, example }: ValueShape): object {
  const shown = {
    schema: inUrl,
    ...(required && !Array.isArray(example) ? { example: exampleOf(inUrl) } : {}),
  };
  // Beside `content` an example is not allowed.
  const form = inUrl.type === undefined ? { content: { 'application/json': shown } } : shown;
  return { name: key, in: 'query', required, description, ...form };
}

const otherValues = {
  name: 'values',
  in: 'query',
  description: 'Values of variables that the query does not declare.',
  style: 'form',
  explode: true,
  schema: { type: 'object', additionalProperties: { type: 'string' } },
};

const { maxRows, numbers, version, csv } = executeBody.properties.options.properties;
const options = [
  { name: 'options.maxRows', in: 'query', schema: maxRows },
  { name: 'options.numbers', in: 'query', schema: numbers },
  { name: 'options.meta', in: 'query', schema: { type: 'boolean' } },
  { name: 'options.csv.bom', in: 'query', schema: csv.properties.bom },
  { name: 'options.csv.delimiter', in: 'query', schema: csv.properties.delimiter },
  { name: 'options.csv.decimal', in: 'query', schema: csv.properties.decimal },
  { name: 'options.version', in: 'query', schema: version },
];

export function toResponses(schema: Schema): object {
  const rows = { schema: { type: 'string' } };
  return {
    200: {
      description: 'The rows',
      content: { ...inAllFormats(rows), 'application/json': { schema } },
    },
    default: {
      description: 'A problem',
      content: { 'application/problem+json': { schema: { $ref: refer('Problem') } } },
    },
  };
}
