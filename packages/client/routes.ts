/** Types of all routes, from the gateway's own OpenAPI document. A tool of developers: `build.ts` runs it. */

import { type Schema, toType } from '../cli/src/types/schema-to-type.ts';

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  schema: Schema;
}
interface Operation {
  summary: string;
  parameters: Parameter[];
  requestBody?: { required?: boolean; content: Record<string, { schema: Schema }> };
  responses: { 200: { content: Record<string, { schema: Schema }> } };
}
export interface OpenApi {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

const json = 'application/json';

export function emitRoutes({ paths, components }: OpenApi): string {
  const schemas = Object.entries(components.schemas).map(
    ([name, schema]) => `export interface ${name} ${toType(schema)}\n`,
  );
  const routes = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(
      ([method, operation]) =>
        `  /** ${operation.summary} */\n  '${method.toUpperCase()} ${path}': ${toType(toSchema(operation), { indent: '  ' })};\n`,
    ),
  );
  return [
    '/** Generated from the routes of the gateway by `npm run build -w packages/client`. */\n',
    "import type { Json } from '../dist/values.d.ts';\n",
    ...schemas,
    `/** Every route: what it takes and what it answers. */\nexport interface Routes {\n${routes.join('')}}\n`,
  ].join('\n');
}

/** An operation as an object of its parts. */
function toSchema({ parameters, requestBody, responses }: Operation): Schema {
  const body = requestBody?.content[json]?.schema;
  const path = partOf(parameters, 'path');
  const query = partOf(parameters, 'query');
  return {
    type: 'object',
    properties: {
      ...(path === undefined ? {} : { path }),
      ...(query === undefined ? {} : { query }),
      ...(body === undefined ? {} : { body }),
      answer: responses[200].content[json]?.schema ?? {},
    },
    required: [
      ...(path === undefined ? [] : ['path']),
      ...(query?.required?.length ? ['query'] : []),
      ...(requestBody?.required && body !== undefined ? ['body'] : []),
      'answer',
    ],
  };
}

function partOf(parameters: Parameter[], place: string): Schema | undefined {
  const own = parameters.filter((parameter) => parameter.in === place);
  if (own.length === 0) return undefined;
  return {
    type: 'object',
    properties: Object.fromEntries(own.map(({ name, schema }) => [name, schema])),
    required: own.filter(({ required }) => required).map(({ name }) => name),
  };
}
