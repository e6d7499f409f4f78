/** A query that is edited and run: its text and settings, the values of its variables, its runs. */

import { computed, type ReadonlySignal, signal } from '@preact/signals';
import type { CachePolicy, Column, QueryVersion, Signature, Variable } from '../api/types.ts';
import type { Annotation } from './annotation.ts';
import type { Checked, CheckedText } from './check.ts';
import { reads } from './commands.ts';
import { type ResultView, Runner, type RunRequest } from './run.ts';
import type { DraftQuery, RunTarget } from './run-call.ts';
import { fieldsOf, readOutline, sentOf, shownContext, type Values } from './variables.ts';

export interface Draft extends DraftQuery {
  cache: CachePolicy | null;
  /** Only of a transaction. Then `text` has the texts of all steps, which this editor shows and does not change. */
  steps?: QueryVersion['steps'];
  /** The hub keeps the values of runs. */
  keepValues?: true;
}

export type RunOptions = Pick<RunRequest, 'dryRun' | 'maxAffected' | 'fresh'>;

export abstract class QueryEditor {
  readonly draft = signal<Draft | undefined>(undefined);
  readonly values = signal<Values>({});
  readonly runner = new Runner();
  readonly resultView = signal<ResultView>('table');
  /** What the hub said last about a draft, and which draft that was. */
  readonly #checked = signal<{ draft: Draft; checked: Checked } | undefined>(undefined);
  abstract readonly engine: ReadonlySignal<string>;
  /** True if a run executes the draft instead of a stored query. */
  abstract readonly isDraft: ReadonlySignal<boolean>;
  /** The name of the files of its rows. */
  abstract readonly label: ReadonlySignal<string>;
  /** What the source said of the text; null if it did not say it, undefined before it was asked. */
  readonly signature: ReadonlySignal<Signature | null | undefined> = computed(
    () => this.#checked.value?.checked.signature,
  );

  readonly fields = computed(() => {
    const { text = '', context = [] } = this.draft.value ?? {};
    return fieldsOf({ text, context, engine: this.engine.value, signature: this.shownSignature.value });
  });
  readonly sent = computed(() => sentOf(this.fields.value, this.values.value));
  /** That of the draft, as soon as it is known. */
  readonly shownSignature = computed(() => {
    const told = this.isDraft.value ? this.#checked.value?.checked.signature : undefined;
    return told ?? this.signature.value;
  });

  /** Equal for drafts that return the same rows for the same values. */
  readonly #definition = computed(() => {
    const { text, command, sourceId, context, notNull } = this.draft.value ?? {};
    return JSON.stringify([text, command, sourceId, context, notNull]);
  });
  /** Says what made the rows that are shown, if the page shows another text or other values; else undefined. */
  readonly rowsOf = computed(() => {
    const { made } = this.runner.state.value;
    if (made === undefined) return undefined;
    const isOther = made.of !== this.#definition.value;
    // Not the JSON: it changes when the types of the variables become known.
    const hasOtherValues = this.fields.value.some(
      ({ key }) => JSON.stringify(made.values[key]) !== JSON.stringify(this.values.value[key]),
    );
    const parts = [
      isOther ? this.nameOf(made.target) : '',
      hasOtherValues ? `the values ${made.shown}` : '',
    ].filter((part) => part !== '');
    return parts.length === 0 ? undefined : parts.join(' and ');
  });

  get writes(): boolean {
    return !reads(this.draft.value?.command ?? '');
  }

  /** What a run or a download executes. */
  get target(): RunTarget | undefined {
    const draft = this.draft.value;
    return draft && { draft };
  }

  /** Names what made rows, if the page shows another text. */
  protected nameOf(_target: RunTarget): string {
    return 'an earlier text';
  }

  /** The classifier that labels the rows of a run. The hub labels those of stored queries only. */
  get annotation(): Annotation | undefined {
    return undefined;
  }

  /** What the hub checks. */
  checkedText(draft: Draft): CheckedText {
    const { text, sourceId, command, context, notNull, session, steps } = draft;
    return {
      query: text,
      sourceId,
      command: command === '' ? undefined : command,
      context,
      notNull: reads(command) ? notNull : [],
      session,
      steps,
    };
  }

  setChecked(draft: Draft, checked: Checked): void {
    this.#checked.value = { draft, checked };
    const { isDraft } = this.runner.state.value;
    if (isDraft && draft === this.draft.value) this.runner.setTypes(this.columns());
  }

  edit(change: Partial<Draft>): void {
    const draft = this.draft.value;
    if (draft === undefined || (change.text !== undefined && draft.steps !== undefined)) return;
    const next = { ...draft, ...change };
    if (change.text !== undefined)
      next.command = readOutline({ ...next, engine: this.engine.value }).command ?? next.command;
    this.draft.value = next;
  }

  /** Declares a variable, or replaces its declaration. */
  declare(variable: Variable): void {
    const context = this.draft.value?.context ?? [];
    const others = context.some(({ key }) => key === variable.key)
      ? context.map((one) => (one.key === variable.key ? variable : one))
      : [...context, variable];
    this.edit({ context: others });
  }

  async run(options: RunOptions = {}): Promise<void> {
    const { target } = this;
    if (target === undefined) return;
    const { context } = this.sent.value;
    const shown = shownContext(this.fields.value, this.sent.value);
    const of = this.#definition.value;
    const statement = { text: this.draft.value?.text ?? '', engine: this.engine.value };
    const request = { target, of, context, shown, statement, values: this.values.value, writes: this.writes };
    const { annotation } = this;
    await this.runner.run({ ...request, columns: this.columns(), annotation, ...options });
    if (this.runner.state.value.problem?.code === 'VERSION_CHANGED') await this.outdated();
  }

  /** Called if the hub has another version than a run meant. */
  async outdated(): Promise<void> {}

  /** The columns of what a run executes, as far as they are known. */
  protected columns(): Column[] {
    const known = this.#checked.value;
    return known?.draft === this.draft.value ? (known?.checked.signature?.columns ?? []) : [];
  }
}
