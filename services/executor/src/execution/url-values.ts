/** Reads over GET: the values of a URL's query string, parsed by the declared types of the variables alone. */

import { elementsOf, excessOf, lossyPart } from '@datahub/contract/json-text';
import { cutText } from '@datahub/contract/limits';
import { describeFaults, type FieldFault, fieldName } from '@datahub/contract/validation-error';
import type { QueryForm } from '@datahub/proto/executor/v1/executor';
import { HubError } from '@datahub/service-kit/call/error';
import { contextInvalid } from '@datahub/statement/values';
import type { QueryDefinition } from '../definitions/definition.ts';
import type { PreparedQuery } from './prepare.ts';

export interface FormOf {
  query: Pick<QueryDefinition, 'variables'>;
  prepared: Pick<PreparedQuery, 'names'>;
  /** JSON of the variables that the key sets. They are accepted and ignored, and no message lists them. */
  pinnedJson: string;
}

/** Throws METHOD_NOT_ALLOWED for a query that writes. */
export function requireRead({ kind }: Pick<PreparedQuery, 'kind'>): void {
  if (kind === 'read') return;
  throw new HubError(
    'METHOD_NOT_ALLOWED',
    'This query writes, and only reads run here. Send POST /v1/queries/execute.',
    { stage: 'prepare', retryable: false },
  );
}

const faultsMax = 50;
const namesMax = 50;
const nameCharactersMax = 100;

/** What was given for a variable. */
interface Given {
  /** As in a query string: of a list, one for each element. */
  texts: string[];
  /** If it was written as a list: the JSON array. */
  listJson?: string;
}

/** The elements of a JSON array as a query string would have them. */
const textsOf = (listJson: string): string[] =>
  elementsOf(listJson).map((element) => (element.startsWith('"') ? JSON.parse(element) : element));

/** What the values of a query string are read by. */
interface Names {
  types: ReadonlyMap<string, string | undefined>;
  secret: ReadonlySet<string>;
}

/**
 * Returns a function that returns the context of a call as JSON. A value that does not fit its type stays text, and
 * binding refuses it. Throws VALIDATION for unknown names and for a second value of a variable that is no list, and
 * CONTEXT_INVALID for a value that is not JSON.
 */
export function createContextOfForm(): (form: QueryForm, of: FormOf) => string {
  // A changed definition is compiled again.
  const names = new WeakMap<FormOf['prepared'], Names>();
  return ({ values }, { query, prepared, pinnedJson }) => {
    const known = names.get(prepared) ?? namesOf(query, prepared);
    names.set(prepared, known);
    const { types, secret } = known;
    const pinned = new Set(pinnedJson === '' ? [] : Object.keys(JSON.parse(pinnedJson)));
    const given = new Map<string, Given>();
    for (const { name, value, listJson } of values) {
      // A secret in the address is refused even if its value is not used.
      if (pinned.has(name) && !secret.has(name)) continue;
      if (listJson !== undefined) {
        given.set(name, { texts: textsOf(listJson), listJson });
        continue;
      }
      // A form sends its empty fields, too.
      if (value === '' && !secret.has(name) && !allowsEmptyText(types.get(name))) continue;
      const before = given.get(name);
      if (before === undefined) given.set(name, { texts: [value] });
      else if (before.listJson === undefined) before.texts.push(value);
    }
    requireKnown(given, { types, pinned, secret });
    const members = [...given].map(
      ([name, one]) => `${JSON.stringify(name)}:${toJson(name, one, types.get(name))}`,
    );
    return `{${members.join(',')}}`;
  };
}

function namesOf({ variables }: FormOf['query'], prepared: FormOf['prepared']): Names {
  const types = new Map<string, string | undefined>(prepared.names.map((name) => [name, undefined]));
  for (const { key, type } of variables) types.set(key, type);
  return { types, secret: new Set(variables.filter((one) => one.secret === true).map(({ key }) => key)) };
}

function requireKnown(
  given: Map<string, Given>,
  { types, pinned, secret }: Names & { pinned: ReadonlySet<string> },
): void {
  const faults: FieldFault[] = [];
  let unknown = false;
  for (const [name, { texts, listJson }] of given) {
    if (faults.length === faultsMax) break;
    const path = ['context', cutText(name, nameCharactersMax)];
    const isKnown = types.has(name);
    unknown ||= !isKnown;
    if (!isKnown) faults.push({ path, detail: 'is not a variable of this query' });
    else if (secret.has(name))
      faults.push({ path, detail: 'is secret; send it with POST /v1/queries/execute' });
    else if (
      listJson === undefined ? texts.length > 1 && !isList(types.get(name)) : !allowsList(types.get(name))
    )
      faults.push({ path, detail: 'must be sent once, because it is not declared as a list' });
  }
  if (faults.length === 0) return;
  const names = [...types.keys()].filter((name) => !pinned.has(name) && !secret.has(name));
  const message = describeFaults(faults, ({ path }) => fieldName(path));
  throw new HubError('VALIDATION', unknown ? `${message} ${describeNames(names)}` : message, {
    errors: faults,
    stage: 'prepare',
    retryable: false,
  });
}

function describeNames(names: string[]): string {
  if (names.length === 0) return 'The query takes no variables.';
  const more = names.length - namesMax;
  return `The query takes ${names.slice(0, namesMax).join(', ')}${more > 0 ? ` and ${more} more` : ''}.`;
}

const elementOf = (type: string | undefined): string | undefined =>
  isList(type) ? type?.slice(0, -2) : type;

const allowsEmptyText = (type: string | undefined): boolean =>
  [undefined, 'string'].includes(elementOf(type));

export const isList = (type: string | undefined): boolean => type?.endsWith('[]') === true;

const allowsList = (type: string | undefined): boolean =>
  isList(type) || type === undefined || type === 'json';

function toJson(name: string, { texts, listJson }: Given, type: string | undefined): string {
  // What has no type, or that of any JSON, is bound as it was written.
  if (listJson !== undefined && !isList(type)) return listJson;
  const parsed = texts.map((text) => {
    if (elementOf(type) === 'json') requireJson(name, text);
    return parse(text, elementOf(type));
  });
  return isList(type) ? `[${parsed.join(',')}]` : (parsed[0] as string);
}

function requireJson(name: string, text: string): void {
  const detail = faultOfJson(text);
  if (detail !== undefined) throw contextInvalid([{ path: ['context', name], detail }]);
}

const number = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

/** JSON of one value, with every digit. */
function parse(text: string, type: string | undefined): string {
  switch (type) {
    case 'integer':
    case 'bigint':
    case 'number':
    case 'decimal':
      return number.test(text) ? text : JSON.stringify(text);
    case 'boolean':
      return text === 'true' || text === 'false' ? text : JSON.stringify(text);
    case 'json':
      return text;
    default:
      return JSON.stringify(text);
  }
}

/** What is wrong with the JSON of a value. */
export function faultOfJson(text: string): string | undefined {
  const excess = excessOf(text);
  if (excess !== undefined) return excess;
  try {
    JSON.parse(text);
  } catch {
    return 'must be JSON';
  }
  return lossyPart(text)?.detail;
}
