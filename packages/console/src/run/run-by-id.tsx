/** For a key that may execute but not read: a query by its id, values as JSON. */

import { useState } from 'preact/hooks';
import { isJson } from '../api/exact.ts';
import type { Problem } from '../api/types.ts';
import { Field } from '../parts/field.tsx';
import { PageHead } from '../parts/page.tsx';
import { goInstead } from '../shell/route.ts';
import { saveShown } from './downloads.ts';
import { Results } from './results.tsx';
import { Runner } from './run.ts';

export function RunById({
  queryId,
  problem,
}: {
  queryId?: string | undefined;
  problem?: Problem | undefined;
}) {
  const [id, setId] = useState(queryId ?? '');
  const [context, setContext] = useState('{}');
  const [runner] = useState(() => new Runner());
  const state = runner.state.value;
  const fits = isJson(context || '{}') && (context || '{}').trim().startsWith('{');
  const submit = (event: Event) => {
    event.preventDefault();
    if (!fits || id.trim() === '') return;
    goInstead('run', id.trim());
    // Whether it writes is not known here, so nothing is said of rows that were affected.
    void runner.run({
      queryId: id.trim(),
      context: context.trim() || '{}',
      values: {},
      columns: [],
      writes: true,
    });
  };
  return (
    <div class="query-page">
      <PageHead title="Run a query by its id" />
      {problem !== undefined && (
        <p class="banner">
          This key cannot list or read queries ({problem.code ?? problem.status}), but it may run those it is
          meant for.
        </p>
      )}
      <form class="form page run-form" onSubmit={submit}>
        <Field label="Query id" value={id} onInput={setId} required />
        <Field
          label="Variables, as a JSON object"
          value={context}
          onInput={setContext}
          rows={3}
          hint={fits ? 'For example {"region": "north"}' : 'This is not a JSON object.'}
        />
        <div class="actions">
          {state.status === 'running' ? (
            <button type="button" class="danger" onClick={() => runner.cancel()}>
              Cancel
            </button>
          ) : (
            <button type="submit" class="primary" disabled={!fits || id.trim() === ''}>
              Run
            </button>
          )}
        </div>
      </form>
      <Results
        state={state}
        label={id}
        onDownload={undefined}
        onSaveShown={() => state.store !== undefined && saveShown(state.store, 'rows')}
        hint="Its rows appear here."
      />
    </div>
  );
}
