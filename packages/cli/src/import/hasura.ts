/** Hasura's operations → queries of a hub: SQL that answers what the role would get. */

import {
  type DocumentNode,
  type FieldNode,
  GraphQLError,
  type OperationDefinitionNode,
  parse,
} from 'graphql';
import { toPath } from '../files/model.ts';
import { addPart, type Metadata, type Operation, readHasuraFiles, type Source } from './hasura-metadata.ts';
import { mutation } from './hasura-mutation.ts';
import { keyOf, Scope } from './hasura-scope.ts';
import { rootSelect, rootValue } from './hasura-select.ts';
import type { Imported } from './imported.ts';
import type { Converted } from './plain-sql.ts';
import type { Api } from './read-export.ts';
import { type Misfit, Refusal } from './text-conversion.ts';

export async function readHasuraApi(api: Api): Promise<Metadata> {
  const answer = await api.post('v1/metadata', { type: 'export_metadata', version: 2, args: {} });
  const found = readHasuraFiles([]);
  addPart(found, answer.metadata, { file: 'metadata', parts: new Map() });
  return found;
}

export function importHasura(metadata: Metadata, into: Imported, role: string): void {
  for (const operation of metadata.operations) {
    const parsed = parseOperation(operation);
    if (Array.isArray(parsed)) {
      for (const misfit of parsed) into.refuse(operation.file, misfit.detail, misfit);
      continue;
    }
    for (const definition of parsed.definitions) {
      if (definition.kind !== 'OperationDefinition') continue;
      const label = definition.name?.value ?? operation.name ?? operation.file;
      const url = metadata.urls.get(`${operation.collection}/${operation.name}`);
      const parts = url?.split('/').filter((part) => part !== '' && !part.startsWith(':'));
      const path =
        parts === undefined || parts.length === 0 ? undefined : parts.map((part) => toPath(part)).join('/');
      const folder = operation.collection === undefined ? [] : [operation.collection];
      const { scope, converted } = convert(definition, parsed, { metadata, role });
      const source = toFoundSource(scope.source);
      into.add(
        { file: operation.file, label, folder, source, ...(path === undefined ? {} : { path }) },
        (_, note) => {
          for (const detail of scope.notes) note(detail);
          return converted;
        },
      );
    }
  }
}

function parseOperation({ text }: Operation): DocumentNode | Misfit[] {
  try {
    return parse(text);
  } catch (err) {
    if (!(err instanceof GraphQLError)) throw err;
    const [{ line, column } = { line: 1, column: 1 }] = err.locations ?? [];
    return [{ line, column, detail: err.message }];
  }
}

const toFoundSource = ({ name, kind }: Source) => ({
  label: name,
  engine: kind === 'postgres' ? ('postgres' as const) : { unknown: kind },
});

interface Conversion {
  /** What the fields need, as far as they were read. */
  scope: Scope;
  converted: Converted | Misfit[];
}

function convert(
  definition: OperationDefinitionNode,
  { definitions }: DocumentNode,
  setting: { metadata: Metadata; role: string },
): Conversion {
  const fragments = definitions.filter((one) => one.kind === 'FragmentDefinition');
  const scope = new Scope(setting, definition, fragments);
  let at = definition.loc;
  try {
    const fields = scope.fields(definition.selectionSet);
    at = fields[0]?.loc ?? at;
    const statement = toStatement(definition, fields, scope);
    for (const { name } of definition.directives ?? [])
      scope.notes.add(`@${name.value} of the operation is not in the query.`);
    return { scope, converted: { ...statement, context: scope.context() } };
  } catch (err) {
    if (!(err instanceof Refusal)) throw err;
    const misfit = {
      line: at?.startToken.line ?? 1,
      column: at?.startToken.column ?? 1,
      detail: err.message,
    };
    return { scope, converted: [misfit] };
  }
}

function toStatement(
  { operation }: OperationDefinitionNode,
  fields: FieldNode[],
  scope: Scope,
): Pick<Converted, 'text' | 'command'> {
  const [field] = fields;
  if (field === undefined) throw new Refusal('The operation has no fields.');
  if (operation === 'mutation') {
    if (fields.length > 1) throw new Refusal('Several mutations are a transaction. Make a query of each.');
    return mutation(field, scope);
  }
  if (operation === 'subscription')
    scope.notes.add('It was a subscription. Poll the query, or let a watch tell you.');
  if (fields.length === 1) return { text: rootSelect(field, scope), command: 'SELECT' };
  scope.notes.add('Its fields are the columns of one row.');
  const columns = fields.map((one) => `${rootValue(one, scope)} AS "${keyOf(one)}"`);
  return { text: `SELECT ${columns.join(', ')}`, command: 'SELECT' };
}
