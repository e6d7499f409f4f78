/** Runs a query by its id, with values as JSON. For keys that may execute queries but not read them. */

import { useSignal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { isJson } from '../../api/exact.ts';
import type { Problem } from '../../api/types.ts';
import { membersOf } from '../../state/address-values.ts';
import { saveShown } from '../../state/downloads.ts';
import { addressQuery, goInstead, setAddressQuery } from '../../state/route.ts';
import { type ResultView, Runner, type RunState } from '../../state/run.ts';
import { Field } from '../../ui/field.tsx';
import { PageHead } from '../../ui/page.tsx';
import { Results } from './results.tsx';

export function RunById({
  queryId,
  problem,
}: {
  queryId?: string | undefined;
  problem?: Problem | undefined;
}) {
  const [id, setId] = useState(queryId ?? '');
  const [context, setContext] = useState(() => contextOf(addressQuery.peek()));
  // They leave the address, and stay for a reload.
  useEffect(() => setAddressQuery(addressQuery.peek()), []);
  const [runner] = useState(() => new Runner());
  const view = useSignal<ResultView>('table');
  const state = runner.state.value;
  const fits = isJson(context || '{}') && (context || '{}').trim().startsWith('{');
  const submit = (event: Event) => {
    event.preventDefault();
    if (!fits || id.trim() === '') return;
    // The address of the same query keeps its values.
    if (id.trim() !== queryId) goInstead('run', id.trim());
    // It is unknown here whether the query writes, so the number of affected rows is not shown.
    void runner.run({
      target: { queryId: id.trim() },
      of: id.trim(),
      context: context.trim() || '{}',
      shown: context,
      values: {},
      columns: [],
      writes: true,
    });
  };
  return (
    <div class="query-page">
      <PageHead title="Run a query by its id" />
      {problem !== undefined && <NoList problem={problem} />}
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
        view={view}
        label={state.made?.of ?? id}
        rowsOf={rowsOf(state, { id, context })}
        onDownload={undefined}
        onSaveShown={() => state.store !== undefined && saveShown(state.store, 'rows')}
        hint="The rows appear here."
      />
    </div>
  );
}

const NoList = ({ problem }: { problem: Problem }) => (
  <p class="banner">
    This key cannot list or read queries ({problem.code ?? problem.status}), but it may run those that it is
    meant for.
  </p>
);

function rowsOf({ made }: RunState, { id, context }: { id: string; context: string }): string | undefined {
  if (made === undefined || (made.of === id.trim() && made.shown === context)) return undefined;
  return `the query ${made.of} and the variables ${made.shown || '{}'}`;
}

/** The values of an address as JSON. The types of the variables are unknown here. */
function contextOf(text: string): string {
  const members = [...membersOf(text)].map(([name, values]) => [
    name,
    values.length > 1 ? values : values[0],
  ]);
  return JSON.stringify(Object.fromEntries(members));
}
