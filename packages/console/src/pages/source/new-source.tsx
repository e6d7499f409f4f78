/** The form of a new source. The hub tests the connection before it keeps the source. */

import { useState } from 'preact/hooks';
import { problemOf } from '../../api/client.ts';
import type { Problem } from '../../api/types.ts';
import { needs } from '../../state/permissions.ts';
import { go } from '../../state/route.ts';
import { hubId, loadTree } from '../../state/workspace.ts';
import { duration } from '../../ui/format.ts';
import { notify } from '../../ui/notice.tsx';
import { PageHead } from '../../ui/page.tsx';
import { ProblemBox } from '../../ui/problem.tsx';
import { createSource, createTested, emptyForm } from './settings.ts';
import { SourceFields } from './source-form.tsx';

export function NewSource() {
  const [form, setForm] = useState(emptyForm);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const hub = hubId.value ?? '';
  const attempt = async (work: () => Promise<string>) => {
    setBusy(true);
    setProblem(undefined);
    try {
      const sourceId = await work();
      await loadTree();
      go('hub', hub, 'source', sourceId);
    } catch (err) {
      setProblem(problemOf(err));
      setBusy(false);
    }
  };
  const submit = (event: Event) => {
    event.preventDefault();
    void attempt(async () => {
      const { sourceId, tested } = await createTested(hub, form);
      notify(`Connected in ${duration(tested.latencyMs)}: ${tested.serverVersion}.`);
      return sourceId;
    });
  };
  const missing = form.host.trim() === '' || form.database.trim() === '';
  const reached = problem !== undefined && /^SOURCE_/.test(problem.code ?? '');
  return (
    <div class="page narrow">
      <PageHead title="New source" />
      <form class="form card" onSubmit={submit}>
        <SourceFields form={form} onChange={setForm}>
          {problem !== undefined && (
            <ProblemBox problem={problem}>
              {reached && <p>The source was not saved. Correct the settings and test again.</p>}
            </ProblemBox>
          )}
          <div class="actions">
            {reached && (
              <button
                type="button"
                disabled={busy}
                onClick={() => void attempt(() => createSource(hub, form))}
              >
                Save without a connection
              </button>
            )}
            <button type="submit" class="primary" {...needs('sources:write', busy || missing)}>
              {busy ? 'Connecting …' : 'Test and save'}
            </button>
          </div>
        </SourceFields>
      </form>
      <p class="hint">
        The hub encrypts the password before it stores it, and no answer contains it. Give the source a
        database user with only the permissions that its queries need.
      </p>
    </div>
  );
}
