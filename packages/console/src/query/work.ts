/** The state of an open query: its stored definition, the draft, the values, the current run and earlier runs. */

import { batch, computed, signal } from '@preact/signals';
import { call, callJson, part } from '../api/client.ts';
import { parseExact } from '../api/exact.ts';
import type { CachePolicy, Query, Signature, Variable } from '../api/types.ts';
import { Runner } from '../run/run.ts';
import { fieldsOf, sentOf, type Values } from '../variables/variables.ts';
import { commandOf, reads } from './commands.ts';

export interface Draft {
  text: string;
  command: string;
  sourceId: string;
  context: Variable[];
  cache: CachePolicy | null;
  /** Columns that must not be null in any row. */
  notNull: string[];
}

/** Open queries by id. Values and runs outlive the view, so that the user finds them again. */
const works = new Map<string, QueryWork>();
const worksMax = 30;
/** The hub waits as long for the source. */
const describedMs = 1_000;

export function workOf(queryId: string): QueryWork {
  const known = works.get(queryId) ?? new QueryWork(queryId);
  works.delete(queryId);
  works.set(queryId, known);
  for (const [id, work] of works) {
    if (works.size <= worksMax) break;
    if (id !== queryId && work.runner.state.value.status !== 'running') works.delete(id);
  }
  return known;
}

/** True if the query ran in this tab. */
export const hasRun = (queryId: string): boolean =>
  works.get(queryId)?.runner.past.value.some(({ status }) => status === 'done') === true;

const draftOf = ({ config }: Query): Draft => ({
  text: config.query.query,
  command: config.command,
  sourceId: config.source.sourceId,
  context: config.context ?? [],
  cache: config.cache ?? null,
  notNull: config.notNull ?? [],
});

export class QueryWork {
  readonly queryId: string;
  readonly stored = signal<Query | undefined>(undefined);
  readonly signature = signal<Signature | null | undefined>(undefined);
  #describing: Promise<void> | undefined;
  readonly draft = signal<Draft | undefined>(undefined);
  readonly values = signal<Values>({});
  readonly runner = new Runner();
  #etag: string | null = null;

  constructor(queryId: string) {
    this.queryId = queryId;
  }

  readonly engine = computed(() => this.stored.value?.meta.engine ?? '');
  readonly dirty = computed(() => {
    const [stored, draft] = [this.stored.value, this.draft.value];
    return (
      stored !== undefined && draft !== undefined && JSON.stringify(draftOf(stored)) !== JSON.stringify(draft)
    );
  });
  readonly fields = computed(() => {
    const { text = '', context = [] } = this.draft.value ?? {};
    return fieldsOf({ text, context, engine: this.engine.value, signature: this.signature.value });
  });
  readonly sent = computed(() => sentOf(this.fields.value, this.values.value));

  /** Reads the stored query. Keeps unsaved changes. */
  async load(stop?: AbortSignal): Promise<void> {
    const response = await call(`v1/queries/${part(this.queryId)}`, { signal: stop });
    const query = parseExact<Query>(await response.text());
    const keep = this.dirty.value;
    batch(() => {
      this.#etag = response.headers.get('etag');
      this.stored.value = query;
      if (!keep) this.draft.value = draftOf(query);
    });
    // The source may answer slowly, so the text does not wait for it.
    this.#describing = this.describe();
  }

  /** Resolves when the first description is there or failed, after a second at most. */
  async described(): Promise<void> {
    if (this.signature.value !== undefined) return;
    await Promise.race([this.#describing, new Promise((resolve) => setTimeout(resolve, describedMs))]);
  }

  async describe(): Promise<void> {
    const path = `v1/queries/${part(this.queryId)}?signature=1`;
    const described = await callJson<Query>(path).catch(() => undefined);
    // A description that was read before is still shown if the next one fails.
    if (described !== undefined || this.signature.value === undefined)
      this.signature.value = described?.signature ?? null;
    this.runner.setTypes(described?.signature?.columns ?? []);
  }

  edit(change: Partial<Draft>): void {
    const draft = this.draft.value;
    if (draft === undefined) return;
    const next = { ...draft, ...change };
    if (change.text !== undefined) next.command = commandOf(change.text, this.engine.value) ?? next.command;
    this.draft.value = next;
  }

  revert(): void {
    if (this.stored.value !== undefined) this.draft.value = draftOf(this.stored.value);
  }

  async save(): Promise<void> {
    const draft = this.draft.value;
    if (draft === undefined || !this.dirty.value) return;
    const { text, command, sourceId, context } = draft;
    // Only queries that read have these settings.
    const cache = reads(command) ? draft.cache : null;
    const notNull = reads(command) ? draft.notNull : [];
    const body = {
      config: { command, context, cache, notNull, query: { query: text }, source: { sourceId } },
    };
    const headers: Record<string, string> = this.#etag === null ? {} : { 'if-match': this.#etag };
    const path = `v1/queries/${part(this.queryId)}`;
    const response = await call(path, { method: 'PUT', body, headers });
    this.#etag = response.headers.get('etag');
    if (this.draft.value === draft) this.draft.value = { ...draft, cache, notNull };
    const stored = this.stored.value as Query;
    const engine = this.engine.value;
    this.stored.value = {
      meta: stored.meta,
      config: {
        command,
        context,
        cache,
        notNull,
        query: { queryId: this.queryId, query: text },
        source: { sourceId, engine },
      },
    };
    await this.load();
  }

  /** Makes the query what it was in a version, if it still has this ETag. Unsaved changes are lost. */
  async restore(version: number, etag: string): Promise<void> {
    const path = `v1/queries/${part(this.queryId)}/restore`;
    await call(path, { body: { version }, headers: { 'if-match': etag } });
    this.revert();
    await this.load();
  }
}
