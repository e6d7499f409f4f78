/** The signatures of queries, and what their sources say of them since: that they are broken, or have other columns. */

import { largestResponse, listTooLarge } from '@datahub/contract/limits';
import type { CompanionWrite } from '@datahub/document-store';
import { HubError } from '@datahub/service-kit/call/error';
import { inGroups } from '@datahub/service-kit/yield-to-loop';
import type { Catalog } from './catalog.ts';
import { createChecker, parseObject } from './check.ts';
import type { AuditDoc, QueryDoc, SignatureDoc } from './documents.ts';
import type { Teller } from './events/event.ts';
import { queryEvent } from './events/hub-event.ts';
import { findBatches } from './pagination.ts';
import { stampOf } from './query-version.ts';

export interface Described {
  /** The version of the document that was described. */
  version: number;
  settingsVersion: string;
  /** Empty if the source rejected the query. */
  signatureJson: string;
  problemJson?: string | undefined;
}

/** Throws VALIDATION. The hub's own services send JSON objects. */
export function checkDescribed({ signatureJson, problemJson }: Described): void {
  const check = createChecker();
  if (signatureJson !== '') parseObject(check, ['signatureJson'], signatureJson);
  if (problemJson !== undefined) parseObject(check, ['problemJson'], problemJson);
  check.done();
}

type SavedBy = Pick<AuditDoc, 'keyId' | 'requestId'>;

/**
 * Keeps the latest description of the latest version. If two arrive at once, either may win. A description that says
 * what is known already is not written, so checking a source again costs no write for each query.
 */
export async function saveSignature(
  catalog: Teller,
  query: QueryDoc,
  { described, by }: { described: Described; by: SavedBy },
): Promise<void> {
  const { signatures, queries } = catalog.store;
  const { id, accountId } = query;
  if (described.version !== query.version) return;
  const old = await signatures.get(accountId, id);
  const next = nextOf(old, query, described);
  if (old !== null && isSame(old, next)) return;
  const companion = await transition(catalog, query, { old, next, by });
  if (old === null) {
    await signatures.insert(next, companion).catch((err) => {
      if (!(err instanceof HubError) || err.code !== 'CONFLICT') throw err;
    });
  } else await signatures.replace({ ...next, version: old.version + 1 }, companion);
  // If the query was deleted meanwhile, its deletion could not delete this signature.
  if ((await queries.get(accountId, id)) === null) await signatures.delete(accountId, id);
}

function nextOf(old: SignatureDoc | null, query: QueryDoc, described: Described): SignatureDoc {
  const { id, accountId, hubId, version: queryVersion } = query;
  const { number } = stampOf(query);
  const { settingsVersion, problemJson, signatureJson } = described;
  const known = old?.number === number ? old : undefined;
  const base = { id, accountId, hubId, version: 1, queryVersion, settingsVersion, number };
  const firstJson = known?.firstJson || signatureJson;
  const first = firstJson === '' ? {} : { firstJson };
  if (problemJson !== undefined) {
    const kept = known?.signatureJson ?? '';
    return { ...base, ...first, signatureJson: kept, state: 'broken', problemJson };
  }
  const changes = columnChanges(firstJson, signatureJson);
  const drift = changes.length === 0 ? {} : { state: 'drifted' as const, driftJson: JSON.stringify(changes) };
  return { ...base, ...first, ...drift, signatureJson };
}

/** Everything but the time of the description, which changes each time. */
function isSame(one: SignatureDoc, other: SignatureDoc): boolean {
  const textOf = ({ version: _, signatureJson, firstJson: _f, ...rest }: SignatureDoc) =>
    JSON.stringify([
      Object.entries(rest).toSorted(([a], [b]) => (a < b ? -1 : 1)),
      contractOf(signatureJson),
    ]);
  return textOf(one) === textOf(other);
}

interface Column {
  name: string;
  type: string;
  nullable?: boolean;
  jsonType?: string;
  /** Of an enum. Another value of the enum is no change of the column. */
  labels?: string[];
}

function contractOf(signatureJson: string): { columns: Column[]; variables: unknown[] } {
  if (signatureJson === '') return { columns: [], variables: [] };
  const { columns = [], variables = [] } = JSON.parse(signatureJson);
  return { columns, variables };
}

export interface ColumnChange {
  name: string;
  change: 'added' | 'removed' | 'changed';
  from?: Omit<Column, 'name'>;
  to?: Omit<Column, 'name'>;
}

export function columnChanges(fromJson: string, toJson: string): ColumnChange[] {
  const [from, to] = [contractOf(fromJson).columns, contractOf(toJson).columns];
  const found = new Map(to.map((column) => [column.name, column]));
  const known = new Set(from.map(({ name }) => name));
  const changes = from.flatMap(({ name, labels: _, ...was }): ColumnChange[] => {
    const column = found.get(name);
    if (column === undefined) return [{ name, change: 'removed', from: was }];
    const { name: _n, labels: _l, ...is } = column;
    return JSON.stringify(was) === JSON.stringify(is) ? [] : [{ name, change: 'changed', from: was, to: is }];
  });
  const added = to.filter(({ name }) => !known.has(name));
  return [
    ...changes,
    ...added.map(({ name, labels: _, ...is }): ColumnChange => ({ name, change: 'added', to: is })),
  ];
}

/** The event of a change of the state, and an audit entry if the query broke or the source accepts it again. */
async function transition(
  catalog: Teller,
  query: QueryDoc,
  { old, next, by }: { old: SignatureDoc | null; next: SignatureDoc; by: SavedBy },
): Promise<CompanionWrite[]> {
  const { state, driftJson } = next;
  if (old?.state === state && (state === 'broken' || old?.driftJson === driftJson)) return [];
  const said = await queryEvent(catalog, query, eventOf(next));
  return (old?.state === 'broken') === (state === 'broken') ? said : [stateEntry(catalog, next, by), ...said];
}

function stateEntry({ createId, nowMs }: Teller, next: SignatureDoc, by: SavedBy): CompanionWrite {
  const at = nowMs();
  const { accountId, id: resourceId, state } = next;
  const action = state === 'broken' ? 'query.break' : 'query.mend';
  const place = { id: createId('evt', at), accountId, version: 1, at, resourceId };
  const doc: AuditDoc = { ...place, ...by, count: 1, failed: 0, action };
  return { collection: 'audit', doc };
}

const toldColumnsMax = 50;

function eventOf({ state, problemJson = '{}', driftJson = '[]' }: SignatureDoc) {
  if (state === undefined) return { type: 'query.mended', more: {} } as const;
  if (state === 'drifted') {
    const changes: ColumnChange[] = JSON.parse(driftJson);
    const columns = changes.slice(0, toldColumnsMax).map(({ name, change }) => ({ name, change }));
    return { type: 'query.drifted', more: { columns } } as const;
  }
  const { code, detail } = JSON.parse(problemJson);
  return { type: 'query.broken', more: { code, detail } } as const;
}

/** What a list of queries reads of a signature. */
export type StateOfQuery = Pick<SignatureDoc, 'number' | 'state' | 'problemJson' | 'driftJson'>;

/** The state of a query, if it is that of the present version. */
export function stateOf(query: QueryDoc, described: StateOfQuery | null | undefined) {
  if (!described || described.number !== stampOf(query).number) return {};
  const { state, problemJson, driftJson } = described;
  return state === 'broken' ? { state, problemJson } : { driftJson };
}

/** Of a hub with more queries, the catalog reads the states of this many. */
const statesMax = 10_000;

/** Reads the states of the broken queries of a hub, by the id of the query. */
export async function readBroken(
  { store }: Pick<Catalog, 'store'>,
  { accountId, hubId }: { accountId: string; hubId: string },
): Promise<Map<string, StateOfQuery>> {
  const filter = { accountId, where: { state: 'broken', hubId } };
  const broken = new Map<string, StateOfQuery>();
  for await (const batch of findBatches(store.signatures, filter, { offset: 0, limit: statesMax }))
    for (const { id, number, state, problemJson } of batch)
      broken.set(id, { number, state, problemJson } as StateOfQuery);
  return broken;
}

/**
 * Reads the states of these queries of a hub, in their order. Throws TOO_LARGE if they have more characters than a
 * response may have: a query of thousands of columns can have drifted by a megabyte.
 */
export async function readStates(
  { store }: Pick<Catalog, 'store'>,
  { accountId, hubId }: { accountId: string; hubId: string },
  queries: readonly QueryDoc[],
): Promise<(StateOfQuery | undefined)[]> {
  const find = (state: string) =>
    store.signatures.findSummaries({ accountId, where: { state, hubId }, limit: statesMax });
  const found = await Promise.all([find('broken'), find('drifted')]);
  const ids = new Set(found.flat().map(({ id }) => id));
  let characters = 0;
  return inGroups(queries, 1, async ({ id }) => {
    const described = ids.has(id) ? await store.signatures.get(accountId, id) : null;
    if (described === null) return undefined;
    const { number, state, problemJson, driftJson } = described;
    characters += (problemJson?.length ?? 0) + (driftJson?.length ?? 0);
    if (characters > largestResponse) throw new HubError('TOO_LARGE', listTooLarge);
    return { number, state, problemJson, driftJson } as StateOfQuery;
  });
}
