/**
 * Compares the rows of two queries in one snapshot, as multisets of their JSON values. Order does not matter; a row that
 * occurs twice is compared twice, as EXCEPT ALL does. It pauses between rows, so that other calls do not wait for it.
 */

import { cutText } from '@datahub/contract/limits';
import { faultsMax } from '@datahub/contract/validation-error';
import type { RowDiff, RowSample } from '@datahub/proto/executor/v1/executor';
import { HubError } from '@datahub/service-kit/call/error';
import { contextInvalid } from '@datahub/statement/values';
import type { QueryDefinition } from '../definitions/definition.ts';
import type { ColumnKind } from '../ports/column-kind.ts';
import type { Connection, SnapshotPlace, Statement } from '../ports/engine.ts';
import type { SinkColumn } from '../ports/row-sink.ts';
import { uniqueNames } from '../result/column-names.ts';
import { toFailure, withoutValues } from './execution-error.ts';
import { type CompileQuery, leastOf, type PreparedQuery, refusedOption } from './prepare.ts';
import { createRowKeys, type KeyedRow, type Pause } from './row-key.ts';
import type { RunDeps } from './run-statement.ts';
import { watched } from './watched-sink.ts';

export interface DiffOptions {
  valuesJson: string;
  /** If true, a value that is a variable of neither query fails with CONTEXT_INVALID. */
  strict: boolean | undefined;
  compile: CompileQuery;
  createWriter: RunDeps['createWriter'];
  timeoutMs: number;
  /** The limits of the hub and the key. */
  rowsMax: number | undefined;
  signal: { readonly aborted: boolean };
  pause: Pause;
  /** Runs work on a connection to the source of both queries. */
  withConnection<T>(use: (connection: Connection) => Promise<T>): Promise<T>;
}

/** Of each query. A diff keeps both results in memory. */
export const diffRowsMax = 50_000;
const diffBytesMax = 8 * 1_048_576;
const samplesMax = 10;
/** Samples with longer rows are left out. */
const sampleCharactersMax = 8_192;

/** Throws OPTION_REFUSED for queries that write, have other sources or sessions or no snapshot, and LIMIT_EXCEEDED for large results. */
export async function diffQueries(
  [before, after]: [before: QueryDefinition, after: QueryDefinition],
  options: DiffOptions,
): Promise<RowDiff> {
  if (before.source.sourceId !== after.source.sourceId)
    throw refusedOption('diff compares rows of one source, and the stored query has another source.');
  if (after.source.engine === 'mongodb') throw refusedOption('The hub cannot compare rows of MongoDB.');
  const reads = [toRead(before, 'before', options), toRead(after, 'after', options)] as const;
  if (options.strict) requireKnown(reads);
  const [one, other] = reads.map(({ statement: { session = [] } }) => JSON.stringify(session));
  if (one !== other)
    throw refusedOption(
      'diff compares rows in one session, and that of the stored query is another one. Run both queries to compare their rows.',
    );
  const [old, next] = await options.withConnection((connection) => readBoth(connection, reads, options));
  const decimals = new Set([...old.decimals, ...next.decimals]);
  return compareRows({ before: old.rows, after: next.rows, decimals, pause: options.pause });
}

interface Read {
  prepared: PreparedQuery;
  statement: Statement;
  /** The values that are no variables of the query. */
  unknown: string[];
}

function toRead(query: QueryDefinition, name: string, { compile, valuesJson }: DiffOptions): Read {
  const prepared = compile(query);
  if (prepared.kind !== 'read') throw refusedOption('diff runs both queries, so both must only read.');
  let unknown: string[] = [];
  const onUnknown = (names: string[]) => {
    unknown = names;
  };
  const bound = prepared.bind({ pinnedJson: '', contextJson: valuesJson, onUnknown });
  return { prepared, statement: { ...bound, key: `diff.${name}`, isOnce: true }, unknown };
}

function requireKnown([before, after]: readonly [Read, Read]): void {
  const inBoth = new Set(before.unknown);
  const unknown = after.unknown.filter((name) => inBoth.has(name));
  const faults = unknown.slice(0, faultsMax).map((name) => ({
    path: ['context', cutText(name, 100)],
    detail: 'is a variable of neither query',
  }));
  if (faults.length > 0) throw contextInvalid(faults);
}

async function readBoth(
  connection: Connection,
  [first, second]: readonly [Read, Read],
  options: DiffOptions,
): Promise<[Rows, Rows]> {
  if (connection.endSnapshot === undefined)
    throw new HubError('INTERNAL', 'The engine has no snapshots.', { stage: 'execute' });
  let old: Rows;
  try {
    old = await readRows(connection, first, { ...options, snapshot: { next: second.statement } });
    if (options.signal.aborted) throw new HubError('CANCELLED', 'The caller left.');
  } catch (err) {
    if (!connection.broken) await connection.endSnapshot();
    throw err;
  }
  return [old, await readRows(connection, second, { ...options, snapshot: 'last' })];
}

interface Rows {
  /** JSON texts. */
  rows: string[];
  /** The names of the columns with decimals or lists of them. */
  decimals: string[];
}

type ReadOptions = DiffOptions & { snapshot: SnapshotPlace };

async function readRows(
  connection: Connection,
  { prepared, statement }: Read,
  { createWriter, timeoutMs, snapshot, ...limits }: ReadOptions,
): Promise<Rows> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const reply = {
    chunk: (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= diffBytesMax) chunks.push(chunk);
      return true;
    },
    onDrain: () => {},
  };
  const maxRows = leastOf(limits.rowsMax, diffRowsMax) ?? diffRowsMax;
  const writer = createWriter({ format: 'ndjson', numbers: 'auto', meta: false, maxRows, reply });
  let columns: readonly SinkColumn[] = [];
  const sink = watched(writer, {
    onColumns: (found) => {
      columns = found;
    },
    beforeRow: () => {
      if (bytes > diffBytesMax) throw tooMuch(`${diffBytesMax / 1_048_576} MiB`);
    },
  });
  try {
    const outcome = await connection.run(statement, sink, {
      maxRows,
      snapshot,
      statementTimeoutMs: timeoutMs,
    });
    if (writer.truncated) throw tooMuch(`${maxRows} rows`);
    writer.finish(outcome, { queueMs: 0, durationMs: 0 });
  } catch (err) {
    writer.abandon();
    const { params, text } = statement;
    throw toFailure(err, 'execute', {
      mapLocation: (fault) => prepared.mapLocation(fault, statement),
      redactMessage: (message) => withoutValues(prepared.nameVariables(message), params, text),
    });
  }
  if (bytes > diffBytesMax) throw tooMuch(`${diffBytesMax / 1_048_576} MiB`);
  const names = uniqueNames(columns.map(({ name }) => name));
  return {
    rows: Buffer.concat(chunks).toString().split('\n').slice(0, -1),
    decimals: names.filter((_, i) => isDecimal(columns[i]?.kind)),
  };
}

const isDecimal = (kind: ColumnKind | undefined): boolean =>
  kind?.is === 'array' ? isDecimal(kind.element) : kind?.is === 'decimal';

const tooMuch = (limit: string) =>
  new HubError(
    'LIMIT_EXCEEDED',
    `A result is larger than ${limit}, the most that diff compares. Use values that select fewer rows.`,
    { retryable: false },
  );

interface RowsToCompare {
  before: readonly string[];
  after: readonly string[];
  /** The columns whose long numbers are strings. */
  decimals?: ReadonlySet<string>;
  pause: Pause;
}

/** Rows are JSON texts. */
export async function compareRows({ before, after, decimals, pause }: RowsToCompare): Promise<RowDiff> {
  const differing = await withoutCommon({ removed: before, added: after }, (row) => row, pause);
  const keyOf = createRowKeys(decimals ?? new Set(), pause);
  const keyed = {
    removed: await mapAll(differing.removed, keyOf),
    added: await mapAll(differing.added, keyOf),
  };
  const { removed, added } = await withoutCommon(keyed, ({ key }) => key, pause);
  const changed = await pair({ removed, added }, pause);
  const paired = new Set(changed.flat());
  const onlyAdded = added.filter((row) => !paired.has(row));
  const onlyRemoved = removed.filter((row) => !paired.has(row));
  return {
    added: onlyAdded.length,
    removed: onlyRemoved.length,
    changed: changed.length,
    unchanged: after.length - added.length,
    samples: toSamples(changed, onlyRemoved, onlyAdded),
  };
}

async function mapAll<T, R>(items: readonly T[], map: (item: T) => Promise<R>): Promise<R[]> {
  const mapped: R[] = [];
  for (const item of items) mapped.push(await map(item));
  return mapped;
}

interface Differing<Row> {
  removed: readonly Row[];
  added: readonly Row[];
}

/** Leaves out each removed row for which there is an added row with the same key, and that row. */
async function withoutCommon<Row>(
  { removed, added }: Differing<Row>,
  keyOf: (row: Row) => string,
  pause: Pause,
): Promise<Differing<Row>> {
  const left = new Map<string, Row[]>();
  for (const row of removed) {
    const key = keyOf(row);
    const rows = left.get(key);
    if (rows === undefined) left.set(key, [row]);
    else rows.push(row);
    await pause();
  }
  const more: Row[] = [];
  for (const row of added) {
    if (left.get(keyOf(row))?.pop() === undefined) more.push(row);
    await pause();
  }
  return { removed: [...left.values()].flat(), added: more };
}

type Changed = [before: KeyedRow, after: KeyedRow];

/** Pairs a removed and an added row that alone have the same first member, if it is not null. */
async function pair({ removed, added }: Differing<KeyedRow>, pause: Pause): Promise<Changed[]> {
  const [old, next] = [await uniqueByFirst(removed, pause), await uniqueByFirst(added, pause)];
  return [...old].flatMap(([first, row]): Changed[] => {
    const other = next.get(first);
    return row === undefined || other === undefined ? [] : [[row, other]];
  });
}

/** Rows by their first member; undefined if several rows have it. */
async function uniqueByFirst(
  rows: readonly KeyedRow[],
  pause: Pause,
): Promise<Map<string, KeyedRow | undefined>> {
  const found = new Map<string, KeyedRow | undefined>();
  for (const row of rows) {
    if (row.first !== undefined) found.set(row.first, found.has(row.first) ? undefined : row);
    await pause();
  }
  return found;
}

/** Takes turns between the kinds of change. */
function toSamples(
  changed: readonly Changed[],
  removed: readonly KeyedRow[],
  added: readonly KeyedRow[],
): RowSample[] {
  const kinds: RowSample[][] = [
    changed.map(([before, after]) => ({ kind: 'changed', beforeJson: before.row, afterJson: after.row })),
    removed.map(({ row }) => ({ kind: 'removed', beforeJson: row })),
    added.map(({ row }) => ({ kind: 'added', afterJson: row })),
  ].map((samples: RowSample[]) => samples.filter(isShort).slice(0, samplesMax));
  return Array.from({ length: samplesMax }, (_, i) => kinds.flatMap((samples) => samples[i] ?? []))
    .flat()
    .slice(0, samplesMax);
}

const isShort = ({ beforeJson = '', afterJson = '' }: RowSample): boolean =>
  beforeJson.length <= sampleCharactersMax && afterJson.length <= sampleCharactersMax;
