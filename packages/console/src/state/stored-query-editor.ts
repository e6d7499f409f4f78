/** The state of an open query: its stored definition, the draft, the values, the current run and earlier runs. */

import { batch, computed, signal } from '@preact/signals';
import { setMembers } from '../api/change-document.ts';
import { isAnswerLost } from '../api/changes.ts';
import { call, callJson, part, problemOf } from '../api/client.ts';
import { parseExact } from '../api/exact.ts';
import type { Presentation, Query, Signature } from '../api/types.ts';
import type { Annotation } from './annotation.ts';
import { createAnswerOrder } from './answer-order.ts';
import type { CheckedText } from './check.ts';
import { reads } from './commands.ts';
import { type Draft, QueryEditor, type RunOptions } from './query-editor.ts';
import type { RunTarget } from './run-call.ts';

/** Open queries by id. Values and runs outlive the view, so that the user finds them again. */
const editors = new Map<string, StoredQueryEditor>();
const editorsMax = 30;
/** The hub waits as long for the source. */
const describedMs = 1_000;
/** How long to look for a hub that did not answer to a publication, and how often. */
const lookUpMs = 30_000;
const lookUpPauseMs = 500;

export function editorOf(queryId: string): StoredQueryEditor {
  const known = editors.get(queryId) ?? new StoredQueryEditor(queryId);
  editors.delete(queryId);
  editors.set(queryId, known);
  for (const [id, editor] of editors) {
    if (editors.size <= editorsMax) break;
    if (id !== queryId && editor.runner.state.value.status !== 'running') editors.delete(id);
  }
  return known;
}

/** True if the query ran in this tab. */
export const hasRun = (queryId: string): boolean =>
  editors.get(queryId)?.runner.past.value.some(({ status }) => status === 'done') === true;

export const draftOf = ({ config }: Query): Draft => ({
  text: config.query.query,
  command: config.command,
  sourceId: config.source.sourceId,
  context: config.context,
  cache: config.cache ?? null,
  notNull: config.notNull ?? [],
  session: config.session,
  steps: config.steps,
  keepValues: config.keepValues ? true : undefined,
});

/** A query as the hub had it, with the ETag of the document and the number of its version. */
export interface StoredQuery {
  query: Query;
  etag: string | null;
  /** Undefined until the hub has named the version. */
  version: { number: number; at: string } | undefined;
}

/** A draft with what it began with. */
export interface EditedQuery {
  draft: Draft;
  base: StoredQuery;
}

interface LoadOptions {
  stop?: AbortSignal;
  /** What happens to the page if the hub has another version: by default, unsaved changes stay and the rest follows. */
  adopt?: 'unless edited' | 'always' | 'never';
}

/** Only queries that read have a cache and columns that are never null. */
const storedForm = (draft: Draft): Draft =>
  reads(draft.command) ? draft : { ...draft, cache: null, notNull: [] };

const sameDraft = (one: Draft, other: Draft) => JSON.stringify(one) === JSON.stringify(other);

const partNames: Record<keyof Draft, string> = {
  text: 'the statement',
  command: 'the command',
  sourceId: 'the source',
  context: 'the variables',
  cache: 'the cache',
  notNull: 'the columns that are never null',
  session: 'the session',
  steps: 'the steps',
  keepValues: 'whether values of runs are kept',
};

export class StoredQueryEditor extends QueryEditor {
  readonly queryId: string;
  /** The version that the draft began with. */
  readonly #base = signal<StoredQuery | undefined>(undefined);
  /** The version of the hub, if it differs from what this page shows or began with. */
  readonly #newer = signal<StoredQuery | undefined>(undefined);
  /** Of the stored query. */
  override readonly signature = signal<Signature | null | undefined>(undefined);
  /** What was discarded last, until something else is edited. */
  readonly #discarded = signal<EditedQuery | undefined>(undefined);
  /** Somebody else deleted the query. The page keeps what it has. */
  readonly #gone = signal(false);
  readonly #annotation = signal<Annotation | undefined>(undefined);
  #describing: Promise<void> | undefined;
  readonly #order = { query: createAnswerOrder(), signature: createAnswerOrder() };

  constructor(queryId: string) {
    super();
    this.queryId = queryId;
  }

  readonly stored = computed(() => this.#base.value?.query);
  readonly isGone = computed(() => this.#gone.value);
  /** The version that the draft began with. */
  readonly version = computed(() => this.#base.value?.version);
  /** What is published, in the form of a draft. */
  readonly published = computed(() => this.stored.value && draftOf(this.stored.value));
  readonly label = computed(() => this.stored.value?.meta.label ?? 'rows');
  readonly engine = computed(() => this.stored.value?.meta.engine ?? '');
  readonly dirty = computed(() => {
    const [published, draft] = [this.published.value, this.draft.value];
    return published !== undefined && draft !== undefined && !sameDraft(published, draft);
  });
  readonly isDraft = this.dirty;
  /** What another key or tab saved meanwhile, and the names of the parts that differ from this page. */
  readonly conflict = computed(() => {
    const [newer, draft] = [this.#newer.value, this.draft.value];
    if (newer === undefined || draft === undefined) return undefined;
    const present = draftOf(newer.query);
    const parts = (Object.keys(partNames) as (keyof Draft)[]).filter(
      (name) => JSON.stringify(present[name]) !== JSON.stringify(draft[name]),
    );
    return { text: present.text, version: newer.version, parts: parts.map((name) => partNames[name]) };
  });
  override get target(): RunTarget | undefined {
    if (this.dirty.value) return super.target;
    return { queryId: this.queryId, version: this.version.value?.number };
  }

  protected override nameOf(target: RunTarget): string {
    if ('draft' in target) return this.dirty.value ? 'an earlier draft' : 'another draft';
    return target.version === undefined ? 'another version' : `version ${target.version}`;
  }

  override get annotation(): Annotation | undefined {
    return this.isDraft.value || this.writes ? undefined : this.#annotation.value;
  }

  /** Runs the query with labels of a classifier, or without. */
  annotate(annotation: Annotation | undefined): void {
    this.#annotation.value = annotation;
    void this.run();
  }

  override checkedText(draft: Draft): CheckedText {
    return { ...super.checkedText(draft), compareTo: this.queryId };
  }

  protected override columns() {
    return this.dirty.value ? super.columns() : (this.signature.value?.columns ?? []);
  }

  override async outdated(): Promise<void> {
    await this.load({ adopt: 'never' });
  }

  /** Runs what the page shows: the draft, or the stored query if it is not edited. */
  override async run(options: RunOptions = {}): Promise<void> {
    // The types of the columns decide how the rows are drawn.
    if (!this.dirty.value) await this.described();
    await super.run(options);
    // A source that was too slow to describe the query before may answer now.
    if (this.signature.value === null) void this.describe();
  }

  /** Reads the stored query. Resolves to false if a later reading overtook this one. */
  async load({ stop, adopt = 'unless edited' }: LoadOptions = {}): Promise<boolean> {
    const read = await this.#read(stop);
    if (read !== undefined) this.#take(read, adopt);
    return read !== undefined;
  }

  /** Resolves to undefined if the answer was overtaken by that of a later reading. */
  async #read(stop?: AbortSignal): Promise<StoredQuery | undefined> {
    const isLatest = this.#order.query();
    const response = await call(`v1/queries/${part(this.queryId)}?latest=1`, { signal: stop }).catch(
      (err) => {
        throw this.#noteGone(err);
      },
    );
    const query = parseExact<Query>(await response.text());
    return isLatest() ? { query, version: query.latest, etag: response.headers.get('etag') } : undefined;
  }

  #noteGone(err: unknown): unknown {
    if (problemOf(err).code === 'NOT_FOUND') this.#gone.value = true;
    return err;
  }

  #take(read: StoredQuery, adopt: LoadOptions['adopt']): void {
    const before = this.stored.value;
    const isSame = before !== undefined && sameDraft(draftOf(before), draftOf(read.query));
    const draft = this.draft.value;
    // The hub may have published this draft although its answer was lost.
    const isMine = draft !== undefined && sameDraft(storedForm(draft), draftOf(read.query));
    const mayAdopt = isMine || adopt === 'always' || (adopt === 'unless edited' && !this.dirty.value);
    batch(() => {
      if (!isSame && !mayAdopt && before !== undefined) {
        this.#newer.value = read;
        return;
      }
      this.#newer.value = undefined;
      this.#base.value = read;
      if (!isSame || adopt === 'always') this.draft.value = draftOf(read.query);
      // The source may answer slowly, so the text does not wait for it.
      if (!isSame || this.signature.value === undefined) this.#describing = this.describe();
    });
  }

  /** Resolves when the first description is there or failed, after a second at most. */
  async described(): Promise<void> {
    if (this.signature.value !== undefined) return;
    await Promise.race([this.#describing, new Promise((resolve) => setTimeout(resolve, describedMs))]);
  }

  async describe(): Promise<void> {
    const path = `v1/queries/${part(this.queryId)}?signature=1`;
    const isLatest = this.#order.signature();
    const described = await callJson<Query>(path).catch(() => undefined);
    if (!isLatest()) return;
    // A description that was read before is still shown if the next one fails.
    if (described !== undefined || this.signature.value === undefined)
      this.signature.value = described?.signature ?? null;
    const { isDraft } = this.runner.state.value;
    if (!isDraft && this.rowsOf.value === undefined)
      this.runner.setTypes(described?.signature?.columns ?? []);
  }

  /** What is edited; undefined if nothing is. */
  readonly edited = computed((): EditedQuery | undefined => {
    const [base, draft] = [this.#base.value, this.draft.value];
    return base === undefined || draft === undefined || !this.dirty.value ? undefined : { draft, base };
  });
  readonly canUndoDiscard = computed(() => this.#discarded.value !== undefined && !this.dirty.value);

  /** Shows what the hub has. */
  revert(): void {
    const present = this.#newer.value ?? this.#base.value;
    if (present === undefined) return;
    batch(() => {
      this.#discarded.value = this.edited.value;
      this.#take(present, 'always');
    });
  }

  undoDiscard(): void {
    if (this.#discarded.value !== undefined) this.resume(this.#discarded.value);
  }

  /** Goes on with a draft. What others changed since it began shows as a conflict; what this page edits stays. */
  resume({ draft, base }: EditedQuery): void {
    if (this.dirty.value) return;
    const present = this.#newer.value ?? this.#base.value;
    batch(() => {
      this.#discarded.value = undefined;
      this.#newer.value = undefined;
      this.#base.value = base;
      this.draft.value = draft;
      if (present !== undefined) this.#take(present, 'unless edited');
    });
  }

  /** Keeps the draft as a change of the version that another key or tab saved. */
  keepDraft(): void {
    batch(() => {
      this.#base.value = this.#newer.value ?? this.#base.value;
      this.#newer.value = undefined;
    });
  }

  /**
   * Publishes the draft. Rejects if the hub has a version that this page did not read; then `conflict` has it. If the
   * answer is lost, looks up whether the hub has the draft.
   */
  async publish(): Promise<void> {
    try {
      await this.#put();
    } catch (err) {
      const problem = problemOf(err);
      const { code } = problem;
      const isLost = isAnswerLost(problem);
      if (code !== 'VERSION_MISMATCH' && !isLost) throw this.#noteGone(err);
      await (isLost ? this.#lookUp() : this.load({ adopt: 'never' }));
      if (!this.dirty.value) return;
      if (isLost || this.#newer.value !== undefined) throw err;
      // Only the name or the folder has changed.
      await this.#put();
    }
  }

  /** Reads the query until the hub answers, for a while. */
  async #lookUp(): Promise<void> {
    const until = performance.now() + lookUpMs;
    while (this.dirty.value && performance.now() < until) {
      const isRead = await this.load({ adopt: 'never' }).catch((err) => {
        if (!isAnswerLost(problemOf(err))) throw err;
        return false;
      });
      if (isRead) return;
      await new Promise((resolve) => setTimeout(resolve, lookUpPauseMs));
    }
  }

  async #put(): Promise<void> {
    const [draft, base] = [this.draft.value, this.#base.value];
    if (draft === undefined || base === undefined || !this.dirty.value) return;
    const { text, command, sourceId, context, cache, notNull, keepValues } = storedForm(draft);
    const settings = { command, context, cache, notNull, keepValues: keepValues ?? false };
    const config = { ...settings, query: { query: text }, source: { sourceId } };
    const headers: Record<string, string> = base.etag === null ? {} : { 'if-match': base.etag };
    const path = `v1/queries/${part(this.queryId)}`;
    const response = await call(path, { method: 'PUT', body: { config }, headers });
    // Readings that began before the change are older than it.
    this.#order.query()();
    const { meta } = base.query;
    const query = { queryId: this.queryId, query: text };
    const saved: StoredQuery = {
      query: {
        meta,
        config: {
          // A change leaves what it does not send.
          ...base.query.config,
          ...config,
          cache: cache ?? undefined,
          query,
          source: { sourceId, engine: meta.engine },
        },
      },
      version: undefined,
      etag: response.headers.get('etag'),
    };
    // Until the number of the new version is known, a run executes the draft: the hub would refuse the old number.
    const read = await this.#read().catch(() => undefined);
    batch(() => {
      if (this.draft.value === draft) this.draft.value = { ...draft, cache, notNull };
      this.#base.value = saved;
      this.#take(read ?? this.#newer.value ?? saved, 'never');
    });
    this.#describing = this.describe();
  }

  /** Stores what the console draws of the query. It is no part of a version, so this publishes nothing. */
  async present(change: Partial<Presentation>): Promise<void> {
    await setMembers<Query>(`v1/queries/${part(this.queryId)}`, ({ config }) => ({
      config: { presentation: { ...config.presentation, ...change } },
    }));
    await this.load({ adopt: 'never' });
  }

  /** Makes the query what it was in a version, if it still has this ETag. Unsaved changes are lost. */
  async restore(version: number, etag: string): Promise<void> {
    const path = `v1/queries/${part(this.queryId)}/restore`;
    await call(path, { body: { version }, headers: { 'if-match': etag } });
    await this.load({ adopt: 'always' });
  }
}
