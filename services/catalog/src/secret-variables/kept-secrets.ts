/** No watch and no board keeps the value of a variable that is declared as secret, and no version of the query shows it. */

import { elementsOf, membersOf, objectOf as toObject } from '@datahub/contract/json-text';
import type { FieldPath } from '@datahub/contract/validation-error';
import { HubError } from '@datahub/service-kit/call/error';
import type { Catalog } from '../catalog.ts';
import { type Checker, createChecker, parseJson } from '../check.ts';
import type { BoardDoc, QueryDoc, VariableDoc } from '../documents.ts';
import { findBatches } from '../pagination.ts';
import type { CatalogStore } from '../store.ts';

type Values = Pick<BoardDoc, 'cardsJson' | 'valuesJson'>;
interface Card {
  queryId?: string;
  path?: string;
  values?: object;
}

/** Throws VALIDATION for the values of a board that are those of secret variables. */
export async function requireNoSecrets(
  { store }: Catalog,
  { accountId, hubId }: Pick<BoardDoc, 'accountId' | 'hubId'>,
  board: Values,
): Promise<void> {
  const check = createChecker();
  for (const [i, card] of cardsOf(board).entries()) {
    const { values } = card;
    const secret = await secretsOfCard(store, { accountId, hubId }, card);
    faultsOf(check, ['cards', i, 'values'], { values, secret });
    faultsOf(check, ['values'], { values: objectOf(board.valuesJson), secret });
  }
  check.done();
}

async function secretsOfCard(
  { queries }: Pick<CatalogStore, 'queries'>,
  { accountId, hubId }: Pick<BoardDoc, 'accountId' | 'hubId'>,
  { queryId, path }: Card,
): Promise<Set<string>> {
  let query: QueryDoc | null | undefined;
  if (queryId !== undefined) query = await queries.get(accountId, queryId);
  else if (path !== undefined) [query] = await queries.find({ accountId, where: { path, hubId }, limit: 1 });
  return secretsOf(query?.context ?? []);
}

/** The same board if it keeps no values of secret variables, as those do that older releases stored. */
export async function withoutSecrets(
  store: Pick<CatalogStore, 'queries'>,
  board: BoardDoc,
): Promise<BoardDoc> {
  const all = new Set<string>();
  const before = elementsOf(board.cardsJson);
  const cards: string[] = [];
  for (const card of before) {
    const secret = await secretsOfCard(store, board, objectOf(card));
    for (const name of secret) all.add(name);
    cards.push(withoutValues(card, secret));
  }
  const valuesJson = withoutMembers(board.valuesJson, all);
  const isSame = valuesJson === board.valuesJson && cards.every((card, i) => card === before[i]);
  return isSame ? board : { ...board, cardsJson: `[${cards.join(',')}]`, valuesJson };
}

/** Of a card as JSON, so that the digits of its other values stay. */
function withoutValues(card: string, names: ReadonlySet<string>): string {
  const members = membersOf(card);
  const values = members.get('values') ?? '';
  const kept = withoutMembers(values, names);
  return kept === values ? card : toObject(members.set('values', kept));
}

/** The same text if it has none of these members. */
export function withoutMembers(object: string, names: ReadonlySet<string>): string {
  if (!object.startsWith('{')) return object;
  const members = membersOf(object);
  const removed = [...names].filter((name) => members.delete(name));
  return removed.length === 0 ? object : toObject(members);
}

/** Throws CONFLICT if a watch or a board keeps a value of a variable that becomes secret. `before`: if it is not new. */
export async function requireNotKept(
  { store }: Catalog,
  before: QueryDoc | undefined,
  next: QueryDoc,
): Promise<void> {
  if (before === undefined && next.path === undefined) return;
  const known = secretsOf(before?.context ?? []);
  const fresh = [...secretsOf(next.context)].filter((key) => !known.has(key));
  // Boards that name the path may have been written for another query.
  const secret = before?.path === next.path ? fresh : [...secretsOf(next.context)];
  if (secret.length === 0) return;
  const { accountId, id, hubId, path } = next;
  const refuse = (what: string, key: string) => {
    const text = `${what} keeps a value of ${key}, which would be secret. Remove the value there first.`;
    throw new HubError('CONFLICT', text.slice(0, 1_000).toWellFormed());
  };
  const all = { offset: 0, limit: Number.POSITIVE_INFINITY };
  for await (const watches of findBatches(store.watches, { accountId, where: { queryId: id } }, all))
    for (const { label, contextJson } of watches) {
      const key = fresh.find((name) => Object.hasOwn(objectOf(contextJson), name));
      if (key !== undefined) refuse(`The watch "${label}"`, key);
    }
  for await (const boards of findBatches(store.boards, { accountId }, all))
    for (const board of boards) {
      const own = cardsOf(board).filter(
        (card) => card.queryId === id || (path !== undefined && board.hubId === hubId && card.path === path),
      );
      const kept =
        own.length === 0 ? [] : [objectOf(board.valuesJson), ...own.map(({ values = {} }) => values)];
      const key = secret.find((name) => kept.some((values) => Object.hasOwn(values, name)));
      if (key !== undefined) refuse(`The board "${board.label}"`, key);
    }
}

/** The names of the secret variables. */
export const secretsOf = (context: QueryDoc['context']): Set<string> =>
  new Set(context.flatMap(({ key, secret }) => (secret ? [key] : [])));

/** The query without the defaults that these variables had before they became secret. */
export function withoutDefaults(query: QueryDoc, names: ReadonlySet<string>): QueryDoc {
  const shown = ({ valueJson, ...rest }: VariableDoc): VariableDoc =>
    valueJson === undefined || names.has(rest.key) ? rest : { ...rest, valueJson };
  return names.size === 0 ? query : { ...query, context: query.context.map(shown) };
}

function faultsOf(
  check: Checker,
  path: FieldPath,
  { values = {}, secret }: { values: object | undefined; secret: ReadonlySet<string> },
): void {
  for (const name of Object.keys(values))
    if (secret.has(name))
      check.fault([...path, name], 'is a secret variable, whose value a board cannot keep');
}

const cardsOf = ({ cardsJson }: Values): Card[] => {
  const cards = parseJson(cardsJson);
  return Array.isArray(cards) ? cards.filter((card) => typeof card === 'object' && card !== null) : [];
};

function objectOf(json: string | undefined): object {
  const value = parseJson(json ?? '');
  return typeof value === 'object' && value !== null ? value : {};
}
