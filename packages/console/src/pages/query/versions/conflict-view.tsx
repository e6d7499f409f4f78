/** The draft of this page beside the version that another key or tab published, and the ways forward. */

import { useMemo, useState } from 'preact/hooks';
import type { QueryWork } from '../../../state/query-work.ts';
import { moment } from '../../../ui/format.ts';
import { DiffLines } from './diff-lines.tsx';
import { compareLines } from './line-diff.ts';

interface ConflictViewProps {
  work: QueryWork;
  /** Shows what publishing the draft changes. */
  onPublish(): void;
}

export function ConflictView({ work, onPublish }: ConflictViewProps) {
  const [isCompared, setIsCompared] = useState(true);
  const conflict = work.conflict.value;
  const base = work.published.value;
  const draft = work.draft.value;
  if (conflict === undefined || base === undefined || draft === undefined) return null;
  const { text, version, parts } = conflict;
  const isEdited = work.dirty.value;
  const theirs = version === undefined ? 'another version' : `version ${version.number}`;
  const began = work.version.value === undefined ? 'an older one' : `version ${work.version.value.number}`;
  const shown = { before: base.text, isCompared };
  return (
    <div class="conflict" role="alert">
      <div class="conflict-head">
        <p>
          <strong>
            Somebody published {theirs} while {isEdited ? `you edited ${began}` : `this page showed ${began}`}
            .
          </strong>{' '}
          Nothing of this page was published or run.
          {parts.length > 0 && ` What differs: ${parts.join(', ')}.`}
        </p>
        <div class="segments" role="group" aria-label="Show the texts">
          <button type="button" aria-pressed={isCompared} onClick={() => setIsCompared(true)}>
            Compare
          </button>
          <button type="button" aria-pressed={!isCompared} onClick={() => setIsCompared(false)}>
            Two texts
          </button>
        </div>
      </div>
      <div class="conflict-texts">
        <section aria-label="Theirs">
          <div class="conflict-bar">
            <h2>Theirs, {theirs}</h2>
            {version !== undefined && <span class="hint">{moment(version.at)}</span>}
            <button type="button" class={isEdited ? '' : 'primary'} onClick={() => work.revert()}>
              Take theirs
            </button>
          </div>
          <Text after={text} {...shown} />
          <p class="hint">
            {isEdited ? 'Your draft is lost. Callers notice nothing.' : 'The page shows it, ready to run.'}
          </p>
        </section>
        {isEdited && (
          <section aria-label="Mine">
            <div class="conflict-bar">
              <h2>Mine, a draft of {began}</h2>
              <button type="button" onClick={() => overwrite(work, onPublish)}>
                Overwrite …
              </button>
              <button type="button" class="primary" onClick={() => work.keepDraft()}>
                Keep mine
              </button>
            </div>
            <Text after={draft.text} {...shown} />
            <p class="hint">
              Your draft goes on from {theirs}, which stays under Versions. Overwriting shows first what
              changes for callers.
            </p>
          </section>
        )}
      </div>
    </div>
  );
}

function overwrite(work: QueryWork, onPublish: () => void): void {
  work.keepDraft();
  onPublish();
}

interface TextProps {
  /** The text where both began. */
  before: string;
  after: string;
  isCompared: boolean;
}

function Text({ before, after, isCompared }: TextProps) {
  const rows = useMemo(() => compareLines(before, after), [before, after]);
  if (isCompared && rows !== undefined) return <DiffLines rows={rows} />;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard scrolls it.
    <pre class="statement" tabIndex={0}>
      {after}
    </pre>
  );
}
