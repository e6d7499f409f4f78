/** Holds what the hub answers against what /openapi.json says of it. */

import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { Answer } from './api.ts';

interface Operation {
  responses: Record<string, { content?: Record<string, { schema: object }> }>;
}

interface Described {
  pattern: RegExp;
  operations: Map<string, Operation>;
}

export type Check = (method: string, path: string, answer: Answer) => void;

/** Throws where a success is of no described path and method, or not as its schema says. */
export async function createCheck(url: string): Promise<Check> {
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, Operation>>;
    components: object;
  };
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  ajv.addSchema({ $id: 'hub', components: document.components });
  // A file asks a few of the routes, and compiling them all takes longer than most tests.
  const compiled = new Map<Operation, ValidateFunction>();
  const compile = (operation: Operation) => {
    const schema = operation.responses['200']?.content?.['application/json']?.schema ?? {};
    const validate = compiled.get(operation) ?? ajv.compile(fromHub(schema));
    compiled.set(operation, validate);
    return validate;
  };
  // A path without parameters is not that of an id.
  const paths = Object.entries(document.paths).toSorted(
    ([one], [other]) => Number(one.includes('{')) - Number(other.includes('{')),
  );
  const described: Described[] = paths.map(([path, operations]) => ({
    pattern: new RegExp(`^${path.replace('{path}', '.+').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
    operations: new Map(Object.entries(operations).map(([method, one]) => [method.toUpperCase(), one])),
  }));
  return (method, path, { status, headers, body }) => {
    const [pathname = ''] = path.split('?');
    const isJson = headers.get('content-type')?.startsWith('application/json');
    if (method === 'HEAD' || status !== 200 || !isJson || !pathname.startsWith('/v1/')) return;
    const found = described.find(
      ({ pattern, operations }) => pattern.test(pathname) && operations.has(method),
    );
    const operation = found?.operations.get(method);
    if (operation === undefined) throw new Error(`${method} ${pathname} is not described.`);
    const validate = compile(operation);
    if (!validate(body)) {
      throw new Error(`${method} ${pathname} is not as described: ${ajv.errorsText(validate.errors)}`);
    }
  };
}

/** References name the document's own components. */
const fromHub = (schema: object): object =>
  JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"hub#/'));
