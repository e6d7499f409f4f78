/**
 * Compares the rows of two queries in one snapshot, as multisets of their JSON texts. Order does not matter; a row that
 * occurs twice is compared twice, as EXCEPT ALL does.
 */

import type { RowDiff, RowSample } from '@datahub/proto/executor/v1/executor';
import { HubError } from '@datahub/service-kit/call/error';
import type { QueryDefinition } from '../definitions/definition.ts';
import type { ColumnKind } from '../ports/column-kind.ts';
import type { Connection, SnapshotPlace, Statement } from '../ports/engine.ts';
import type { RowSink, SinkColumn } from '../ports/row-sink.ts';
import { uniqueNames } from '../result/column-names.ts';
import { toFailure, withoutValues } from './execution-error.ts';
import { type CompileQuery, leastOf, type PreparedQuery, refusedOption } from './prepare.ts';
import type { RunDeps } from './run-statement.ts';

export interface DiffOptions {
  valuesJson: string;
  compile: CompileQuery;
  createWriter: RunDeps['createWriter'];
  timeoutMs: number;
  /** The limits of the hub and the key. */
  rowsMax: number | undefined;
  signal: { readonly aborted: boolean };
  /** Runs work on a connection to the source of both queries. */
  withConnection<T>(use: (connection: Connection) => Promise<T>): Promise<T>;
}

/** Of each query. A diff keeps both results in memory. */
export const diffRowsMax = 50_000;
const diffBytesMax = 8 * 1_048_576;
const samplesMax = 10;
/** Samples with longer rows are left out. */
const sampleCharactersMax = 8_192;

/** Throws OPTION_REFUSED for queries that write, have other sources or no snapshot, and LIMIT_EXCEEDED for large results. */
export async function diffQueries(
  [before, after]: [before: QueryDefinition, after: QueryDefinition],
  options: DiffOptions,
): Promise<RowDiff> {
  if (before.source.sourceId !== after.source.sourceId)
    throw refusedOption('diff compares rows of one source, and the stored query has another source.');
  if (after.source.engine === 'mongodb') throw refusedOption('The hub cannot compare rows of MongoDB.');
  const reads = [toRead(before, 'before', options), toRead(after, 'after', options)] as const;
  return options.withConnection(async (connection) => {
    const [old, next] = await readBoth(connection, reads, options);
    return compareRows(old.rows, next.rows, new Set([...old.decimals, ...next.decimals]));
  });
}

interface Read {
  prepared: PreparedQuery;
  statement: Statement;
}

function toRead(query: QueryDefinition, name: string, { compile, valuesJson }: DiffOptions): Read {
  const prepared = compile(query);
  if (prepared.kind !== 'read') throw refusedOption('diff runs both queries, so both must only read.');
  const bound = prepared.bind({ pinnedJson: '', contextJson: valuesJson });
  return { prepared, statement: { ...bound, key: `diff.${name}`, isOnce: true } };
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
  const sink = watching(writer, {
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
    const { params } = statement;
    throw toFailure(err, 'execute', {
      mapLocation: (fault) => prepared.mapLocation(fault, statement),
      redactMessage: (message) => withoutValues(prepared.nameVariables(message), params),
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

interface SinkWatcher {
  onColumns(columns: readonly SinkColumn[]): void;
  /** The engine stops after a row that throws. */
  beforeRow(): void;
}

const watching = (sink: RowSink, { onColumns, beforeRow }: SinkWatcher): RowSink => ({
  takesDocuments: sink.takesDocuments,
  takesBinary: sink.takesBinary,
  begin: (columns) => {
    onColumns(columns);
    sink.begin(columns);
  },
  row: (source, offsets) => {
    beforeRow();
    sink.row(source, offsets);
  },
  document: (source, start) => sink.document(source, start),
  get truncated() {
    return sink.truncated;
  },
  get full() {
    return sink.full;
  },
  onDrain: (listener) => sink.onDrain(listener),
});

const tooMuch = (limit: string) =>
  new HubError(
    'LIMIT_EXCEEDED',
    `A result is larger than ${limit}, the most that diff compares. Use values that select fewer rows.`,
    { retryable: false },
  );

/** Rows are JSON texts. `decimals` are the members whose long numbers are strings. */
export function compareRows(
  before: readonly string[],
  after: readonly string[],
  decimals: ReadonlySet<string> = new Set(),
): RowDiff {
  const plainNumbers = createPlainNumbers(decimals);
  const differing = withoutCommon({ removed: before, added: after }, (row) => row);
  const { removed, added } = withoutCommon(differing, plainNumbers);
  const changed = pair({ removed, added }, plainNumbers);
  const changedRows = new Set(changed.flat());
  const onlyAdded = added.filter((row) => !changedRows.has(row));
  const onlyRemoved = removed.filter((row) => !changedRows.has(row));
  return {
    added: onlyAdded.length,
    removed: onlyRemoved.length,
    changed: changed.length,
    unchanged: after.length - added.length,
    samples: toSamples(changed, onlyRemoved, onlyAdded),
  };
}

interface Differing {
  removed: readonly string[];
  added: readonly string[];
}

/** Leaves out each removed row for which there is an added row with the same key, and that row. */
function withoutCommon({ removed, added }: Differing, keyOf: (row: string) => string): Differing {
  const left = new Map<string, string[]>();
  for (const row of removed) {
    const key = keyOf(row);
    const rows = left.get(key);
    if (rows === undefined) left.set(key, [row]);
    else rows.push(row);
  }
  const more = added.filter((row) => left.get(keyOf(row))?.pop() === undefined);
  return { removed: [...left.values()].flat(), added: more };
}

const stringOrNumber = /("(?:[^"\\]|\\.)*")(:?)|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g;
const isPlain = /^-?[1-9]\d*$/;
const quotedNumber = /^"-?\d+(?:\.\d+)?"$/;

/**
 * Returns a function that writes equal numbers of a row alike, such as 1, 1.0 and 10e-1, because a database writes them
 * with the scale of the column.
 */
function createPlainNumbers(decimals: ReadonlySet<string>): (row: string) => string {
  return (row) => {
    let name = '';
    return row.replace(stringOrNumber, (token, text?: string, colon?: string) => {
      if (text === undefined) return isPlain.test(token) ? `${token}.` : plainNumber(token);
      if (colon === ':') name = text;
      else if (quotedNumber.test(text) && decimals.has(JSON.parse(name)))
        return plainNumber(text.slice(1, -1));
      return token;
    });
  };
}

/** Numbers with larger exponents stay as they are. */
const exponentMax = 400;

function plainNumber(token: string): string {
  const [, sign = '', whole = '', decimals = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/.exec(token) ?? [];
  const shift = Number(exponent);
  if (Math.abs(shift) > exponentMax) return token;
  const digits =
    '0'.repeat(Math.max(0, -shift)) + whole + decimals + '0'.repeat(Math.max(0, shift - decimals.length));
  const point = Math.max(0, -shift) + whole.length + shift;
  const [before, after] = [digits.slice(0, point).replace(/^0+/, ''), digits.slice(point).replace(/0+$/, '')];
  if (before === '' && after === '') return '0';
  return `${sign}${before}.${after}`;
}

/** Pairs a removed and an added row that alone have the same first member, if it is not null. */
function pair(
  { removed, added }: Differing,
  plainNumbers: (row: string) => string,
): [before: string, after: string][] {
  const [old, next] = [removed, added].map((rows) => uniqueByFirst(rows, plainNumbers));
  return [...(old ?? [])].flatMap(([first, row]): [string, string][] => {
    const other = next?.get(first);
    return row === undefined || other === undefined ? [] : [[row, other]];
  });
}

/** Rows by the text of their first member; undefined if several rows have it. */
function uniqueByFirst(
  rows: readonly string[],
  plainNumbers: (row: string) => string,
): Map<string, string | undefined> {
  const found = new Map<string, string | undefined>();
  for (const row of rows) {
    const member = firstMember.exec(row)?.[0];
    if (member === undefined) continue;
    const first = plainNumbers(member);
    found.set(first, found.has(first) ? undefined : row);
  }
  return found;
}

/** A name, and a value that is neither null nor an object or an array. */
const firstMember = /^\{"(?:[^"\\]|\\.)*":(?!null)(?:"(?:[^"\\]|\\.)*"|[^,"{}[\]]+)(?=[,}])/;

/** Takes turns between the kinds of change. */
function toSamples(
  changed: readonly [string, string][],
  removed: readonly string[],
  added: readonly string[],
): RowSample[] {
  const kinds: RowSample[][] = [
    changed.map(([beforeJson, afterJson]) => ({ kind: 'changed', beforeJson, afterJson })),
    removed.map((beforeJson) => ({ kind: 'removed', beforeJson })),
    added.map((afterJson) => ({ kind: 'added', afterJson })),
  ].map((samples: RowSample[]) => samples.filter(isShort).slice(0, samplesMax));
  return Array.from({ length: samplesMax }, (_, i) => kinds.flatMap((samples) => samples[i] ?? []))
    .flat()
    .slice(0, samplesMax);
}

const isShort = ({ beforeJson = '', afterJson = '' }: RowSample): boolean =>
  beforeJson.length <= sampleCharactersMax && afterJson.length <= sampleCharactersMax;
