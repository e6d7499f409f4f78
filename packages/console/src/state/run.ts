/** Runs a stored query or a draft, and stores the rows as they arrive. */

import { signal } from '@preact/signals';
import { isOfEarlier, isOfProxy } from '../api/changes.ts';
import { call, Failure, isAborted, problemOf } from '../api/client.ts';
import type { Column, Problem } from '../api/types.ts';
import { type Annotation, annotateOption } from './annotation.ts';
import { RowStore, type Statement } from './rows/row-store.ts';
import { limitIn, readLines, takeCut } from './rows/stream.ts';
import { type RunTarget, toCall } from './run-call.ts';
import type { Values } from './variables.ts';

/** The most rows that the page stores. A download has no such limit. */
export const shownRowsMax = 100_000;
const shownBytesMax = 160 * 1_024 * 1_024;

/** How the result of a run is shown. */
export type ResultView = 'table' | 'chart' | 'json' | 'explain';

export type RunStatus = 'idle' | 'running' | 'done' | 'failed' | 'cancelled';

/** What made the rows of a run. */
export type MadeBy = Pick<RunRequest, 'target' | 'context' | 'values' | 'shown' | 'of' | 'writes'>;

export interface RunState {
  status: RunStatus;
  made?: MadeBy;
  store?: RowStore;
  rows: number;
  /** The time from the start of the run to its first row. */
  firstRowMs?: number;
  totalMs?: number;
  /** The time at the database as the hub measured it, if it reports it. */
  databaseMs?: number;
  problem?: Problem;
  /** True if a limit of this page, of the key or of the hub cut the rows, or if there are further results. */
  truncated?: boolean;
  /** Whose limit that was. */
  cutBy?: string;
  /** True if the procedure returned further results. */
  moreResults?: boolean;
  dryRun?: boolean;
  /** The classifier that labels the rows. */
  annotation?: Annotation;
  /** The number of labels that the person corrected. */
  corrected?: number;
  /** True if a draft ran instead of a stored query. */
  isDraft?: boolean;
  /** True if this is the answer of the run before, which had got none, and nothing was run. */
  isEarlier?: boolean;
  /** When a cached result was read from the source. */
  cachedAt?: number;
  /** The number of affected rows of a statement without a row set. */
  affected?: string;
  startedAt?: number;
}

/** Codes of answers to a write that may have been carried out. */
const unknownEnds = new Set(['OUTCOME_UNKNOWN', 'IDEMPOTENCY_CONFLICT']);

/** True for a write that failed although it may have been carried out, or that was stopped while it ran. */
export function mayBeWritten({ status, made, dryRun, problem }: RunState): boolean {
  if (made?.writes !== true || dryRun === true) return false;
  if (status === 'cancelled') return true;
  if (status !== 'failed' || problem === undefined) return false;
  return problem.status === 0 || isOfProxy(problem) || unknownEnds.has(problem.code ?? '');
}

export interface PastRun {
  id: number;
  at: Date;
  values: Values;
  shown: string;
  status: RunStatus;
  rows: number;
  totalMs: number;
  dryRun: boolean;
  isDraft: boolean;
  code?: string;
}

export interface RunRequest {
  target: RunTarget;
  /** Equal for equal definitions: a run of a draft and one of the same text when it is stored. */
  of: string;
  /** The values as JSON text. */
  context: string;
  /** The values as they are listed, without secret ones. */
  shown: string;
  values: Values;
  columns: Column[];
  statement?: Statement;
  writes: boolean;
  dryRun?: boolean;
  maxAffected?: number;
  /** True to bypass the hub's cache. */
  fresh?: boolean;
  annotation?: Annotation | undefined;
}

const pastMax = 50;

export class Runner {
  readonly state = signal<RunState>({ status: 'idle', rows: 0 });
  readonly past = signal<PastRun[]>([]);
  #stop: AbortController | undefined;
  #runs = 0;

  /** Closes the request. The hub then stops the statement at the database. */
  cancel(): void {
    this.#stop?.abort();
  }

  async run(request: RunRequest): Promise<void> {
    this.cancel();
    const stop = new AbortController();
    this.#stop = stop;
    const startedAt = performance.now();
    const { dryRun = false, annotation, target, context, values, shown, of, writes } = request;
    const made = { target, context, values, shown, of, writes };
    const isDraft = 'draft' in request.target;
    const store = new RowStore(request.writes ? [] : request.columns, annotation?.as);
    store.statement = request.statement;
    const begun: RunState = { status: 'running', store, made, rows: 0, dryRun, isDraft, startedAt };
    this.state.value = annotation === undefined ? begun : { ...begun, annotation };
    let state: RunState = this.state.value;
    const set = (change: Partial<RunState>) => {
      state = { ...state, ...change };
      if (this.#stop === stop) this.state.value = { ...this.state.value, ...change };
    };
    try {
      await this.#stream(request, { store, stop, set, startedAt });
      set({ status: 'done', totalMs: performance.now() - startedAt });
    } catch (err) {
      const totalMs = performance.now() - startedAt;
      if (isAborted(err) || stop.signal.aborted) set({ status: 'cancelled', totalMs });
      else set({ status: 'failed', totalMs, problem: problemOf(err) });
    }
    this.#keep(request, state);
  }

  /** Shows another label in a row than that of the classifier. */
  correct(row: number, label: string): void {
    const { store, corrected = 0 } = this.state.value;
    store?.correct(row, label);
    this.state.value = { ...this.state.value, corrected: corrected + 1 };
  }

  /** Shows the types of the columns, if they were unknown when the run began. */
  setTypes(columns: Column[]): void {
    const { store } = this.state.value;
    if (store === undefined || store.isTyped) return;
    store.setTypes(columns);
    this.state.value = { ...this.state.value };
  }

  async #stream(
    request: RunRequest,
    {
      store,
      stop,
      set,
      startedAt,
    }: { store: RowStore; stop: AbortController; set(change: Partial<RunState>): void; startedAt: number },
  ): Promise<void> {
    const { path, body } = callOf(request);
    const response = await call(path, {
      body,
      accept: 'application/x-ndjson',
      signal: stop.signal,
      reads: !request.writes,
      // By default the hub may answer with a cached result, as it does for callers.
      cache: request.fresh ? 'no-store' : 'default',
    });
    if (isOfEarlier(response)) set({ isEarlier: true });
    const isHit = /^data-hub; hit/.test(response.headers.get('cache-status') ?? '');
    if (isHit) set({ cachedAt: Date.now() - Number(response.headers.get('age') ?? 0) * 1_000 });
    const databaseMs = Number(/\bdb;dur=([\d.]+)/.exec(response.headers.get('server-timing') ?? '')?.[1]);
    if (databaseMs > 0) set({ databaseMs });
    if (response.headers.get('x-more-results') === 'true') set({ moreResults: true });
    let drawnAt = 0;
    const ending = await readLines(response, (lines) => {
      const cut = takeCut(lines);
      store.add(lines);
      const now = performance.now();
      // Drawing each chunk would cost more than reading it.
      if (drawnAt === 0 || now - drawnAt > 80) {
        const first = drawnAt === 0 && store.lines.length > 0 ? { firstRowMs: now - startedAt } : {};
        drawnAt = now;
        set({ rows: store.lines.length, ...first });
      }
      if (cut) set({ truncated: true });
      if (store.bytes <= shownBytesMax) return true;
      set({ truncated: true, cutBy: "this page's memory" });
      return false;
    }).finally(() => set({ rows: store.lines.length }));
    const { truncated, moreResults, problem } = ending;
    if (truncated) set({ truncated, cutBy: limitIn(ending) });
    if (moreResults) set({ moreResults });
    if (problem !== undefined) throw new Failure(problem);
    const affected = request.writes ? affectedIn(store) : undefined;
    if (affected !== undefined) set({ affected });
  }

  /** `state`: that of this run; another one may have begun. */
  #keep(request: RunRequest, { status, rows, totalMs = 0, problem, affected }: RunState): void {
    const one: PastRun = {
      id: ++this.#runs,
      at: new Date(),
      values: request.values,
      shown: request.shown,
      status,
      rows: affected === undefined ? rows : Number(affected),
      totalMs,
      dryRun: request.dryRun === true,
      isDraft: 'draft' in request.target,
      ...(problem?.code === undefined ? {} : { code: problem.code }),
    };
    this.past.value = [one, ...this.past.value].slice(0, pastMax);
  }
}

function affectedIn(store: RowStore): string | undefined {
  return store.lines.length === 1 ? /^\{"affectedRows":(\d+)[,}]/.exec(store.lines[0] ?? '')?.[1] : undefined;
}

/** The path and the JSON text of a run. The values keep their digits. */
function callOf({ target, context, writes, dryRun, maxAffected, annotation }: RunRequest) {
  return toCall(target, context, {
    maxRows: writes ? undefined : shownRowsMax,
    ending: true,
    dryRun: dryRun || undefined,
    maxAffected,
    annotate: annotateOption(annotation),
  });
}
