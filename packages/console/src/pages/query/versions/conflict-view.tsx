/** The draft of this page beside the version that another key or tab published, and the ways forward. */

import { useMemo, useState } from 'preact/hooks';
import type { StoredQueryEditor } from '../../../state/stored-query-editor.ts';
import { moment } from '../../../ui/format.ts';
import { DiffLines } from './diff-lines.tsx';
import { compareLines } from './line-diff.ts';

interface ConflictViewProps {
  editor: StoredQueryEditor;
  /** Shows what publishing the draft changes. */
  onPublish(): void;
}

export function ConflictView({ editor, onPublish }: ConflictViewProps) {
  const [isCompared, setIsCompared] = useState(true);
  const conflict = editor.conflict.value;
  const base = editor.published.value;
  const draft = editor.draft.value;
  if (conflict === undefined || base === undefined || draft === undefined) return null;
  const { text, version, parts } = conflict;
  const isEdited = editor.dirty.value;
  const theirs = version === undefined ? 'another version' : `version ${version.number}`;
  const began =
    editor.version.value === undefined ? 'an older one' : `version ${editor.version.value.number}`;
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
            <button type="button" class={isEdited ? '' : 'primary'} onClick={() => editor.revert()}>
              Take theirs
            </button>
          </div>
          <Text after={text} {...shown} />
          <p class="hint">
            {isEdited
              ? 'Your draft is discarded, which can be undone. Callers notice nothing.'
              : 'The page shows it, ready to run.'}
          </p>
        </section>
        {isEdited && (
          <section aria-label="Mine">
            <div class="conflict-bar">
              <h2>Mine, a draft of {began}</h2>
              <button type="button" onClick={() => overwrite(editor, onPublish)}>
                Overwrite …
              </button>
              <button type="button" class="primary" onClick={() => editor.keepDraft()}>
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

function overwrite(editor: StoredQueryEditor, onPublish: () => void): void {
  editor.keepDraft();
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
