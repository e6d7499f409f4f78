/** Hasura's operations → queries of a hub: SQL that answers what the role would get. */

import { type DocumentNode, GraphQLError, type OperationDefinitionNode, parse } from 'graphql';
import { toPath } from '../files/model.ts';
import { addPart, type Metadata, type Operation, readHasuraFiles } from './hasura-metadata.ts';
import { mutation } from './hasura-mutation.ts';
import { Scope } from './hasura-scope.ts';
import { keyOf, rootSelect, rootValue } from './hasura-select.ts';
import type { Imported } from './imported.ts';
import type { Converted } from './plain-sql.ts';
import type { Api } from './read-export.ts';
import { type Misfit, Refusal } from './text-conversion.ts';

export async function readHasuraApi(api: Api): Promise<Metadata> {
  const answer = await api.post('v1/metadata', { type: 'export_metadata', version: 2, args: {} });
  const found = readHasuraFiles([]);
  addPart(found, 'metadata', answer.metadata);
  return found;
}

export function importHasura(metadata: Metadata, into: Imported, role: string): void {
  const strange = metadata.sources.find(({ kind }) => kind !== 'postgres');
  for (const operation of metadata.operations) {
    const parsed = parseOperation(operation);
    if (Array.isArray(parsed)) {
      for (const misfit of parsed) into.refuse(operation.file, misfit.detail, misfit);
      continue;
    }
    const source = {
      label: metadata.sources[0]?.name ?? 'default',
      engine: strange === undefined ? ('postgres' as const) : { unknown: strange.kind },
    };
    for (const definition of parsed.definitions) {
      if (definition.kind !== 'OperationDefinition') continue;
      const label = definition.name?.value ?? operation.name ?? operation.file;
      const url = metadata.urls.get(`${operation.collection}/${operation.name}`);
      const parts = url?.split('/').filter((part) => part !== '' && !part.startsWith(':'));
      const path =
        parts === undefined || parts.length === 0 ? undefined : parts.map((part) => toPath(part)).join('/');
      const folder = operation.collection === undefined ? [] : [operation.collection];
      into.add(
        { file: operation.file, label, folder, source, ...(path === undefined ? {} : { path }) },
        (_, note) => convert(definition, parsed, { metadata, role, note }),
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

interface Setting {
  metadata: Metadata;
  role: string;
  note(detail: string): void;
}

function convert(
  definition: OperationDefinitionNode,
  { definitions }: DocumentNode,
  { note, ...setting }: Setting,
): Converted | Misfit[] {
  const fragments = definitions.filter((one) => one.kind === 'FragmentDefinition');
  const scope = new Scope(setting, { variables: definition.variableDefinitions ?? [], fragments });
  let at = definition.loc;
  try {
    const fields = scope.fields(definition.selectionSet);
    at = fields[0]?.loc ?? at;
    const [field] = fields;
    if (field === undefined) throw new Refusal('The operation has no fields.');
    if (definition.operation === 'mutation') {
      if (fields.length > 1) throw new Refusal('Several mutations are a transaction. Make a query of each.');
      const { text, command } = mutation(field, scope);
      return { text, command, context: finish(scope, note) };
    }
    if (definition.operation === 'subscription')
      note('It was a subscription. Poll the query, or let a watch tell you.');
    const text =
      fields.length === 1
        ? rootSelect(field, scope)
        : `SELECT ${fields.map((one) => `${rootValue(one, scope)} AS "${keyOf(one)}"`).join(', ')}`;
    if (fields.length > 1) note('Its fields are the columns of one row.');
    return { text, command: 'SELECT', context: finish(scope, note) };
  } catch (err) {
    if (!(err instanceof Refusal)) throw err;
    return [{ line: at?.startToken.line ?? 1, column: at?.startToken.column ?? 1, detail: err.message }];
  }
}

function finish(scope: Scope, note: (detail: string) => void): Converted['context'] {
  for (const detail of scope.notes) note(detail);
  return scope.context();
}
