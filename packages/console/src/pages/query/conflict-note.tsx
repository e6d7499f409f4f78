/** Shows the text of this page beside the present one, after another key or tab has changed the query. */

import type { QueryWork } from '../../state/query-work.ts';

export function ConflictNote({ work }: { work: QueryWork }) {
  const conflict = work.conflict.value;
  if (conflict === undefined) return null;
  const { text, number, parts } = conflict;
  return (
    <div class="conflict" role="alert">
      <p>
        <strong>This query was changed elsewhere, so nothing was published or run.</strong>{' '}
        {parts.length > 0 && `What differs: ${parts.join(', ')}.`}
      </p>
      <div class="conflict-texts">
        <Text title="On this page" text={work.draft.value?.text ?? ''} />
        <Text title={`Present${number === undefined ? '' : `, version ${number}`}`} text={text} />
      </div>
      <div class="actions">
        {work.dirty.value && (
          <button type="button" onClick={() => work.keepDraft()}>
            Keep my changes
          </button>
        )}
        <button type="button" onClick={() => work.revert()}>
          Show the present version
        </button>
      </div>
    </div>
  );
}

function Text({ title, text }: { title: string; text: string }) {
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard scrolls it. */}
      <pre class="statement" tabIndex={0}>
        {text}
      </pre>
    </section>
  );
}
