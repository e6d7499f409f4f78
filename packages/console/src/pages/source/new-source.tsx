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
import { type FormFaults, faultsOfForm, faultsOfProblem, unchanged } from './form-faults.ts';
import { createSource, createTested, emptyForm, type SourceForm } from './settings.ts';
import { focusFirstFault, SourceFields } from './source-form.tsx';

export function NewSource() {
  const [form, setForm] = useState(emptyForm);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const [faults, setFaults] = useState<FormFaults>({});
  const hub = hubId.value ?? '';
  const attempt = async (shown: HTMLFormElement, save: () => Promise<string>) => {
    const seen = faultsOfForm(form);
    setFaults(seen);
    if (Object.keys(seen).length > 0) {
      focusFirstFault(shown);
      return;
    }
    setBusy(true);
    setProblem(undefined);
    try {
      const sourceId = await save();
      await loadTree();
      go('hub', hub, 'source', sourceId);
    } catch (err) {
      const failed = problemOf(err);
      setProblem(failed);
      setFaults(faultsOfProblem(failed, form));
      setBusy(false);
    }
  };
  const change = (next: SourceForm) => {
    setForm(next);
    setFaults(unchanged(faults, form, next));
  };
  const submit = (event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    void attempt(event.currentTarget, async () => {
      const { sourceId, tested } = await createTested(hub, form);
      notify(`Connected in ${duration(tested.latencyMs)}: ${tested.serverVersion}.`);
      return sourceId;
    });
  };
  const reached = problem !== undefined && /^SOURCE_/.test(problem.code ?? '');
  return (
    <div class="page narrow">
      <PageHead title="New source" />
      <form class="form card" onSubmit={submit}>
        <SourceFields form={form} faults={faults} onChange={change}>
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
                onClick={({ currentTarget }) =>
                  currentTarget.form && void attempt(currentTarget.form, () => createSource(hub, form))
                }
              >
                Save without a connection
              </button>
            )}
            <button type="submit" class="primary" {...needs('sources:write', busy)}>
              {busy ? 'Connecting …' : 'Test and save'}
            </button>
          </div>
        </SourceFields>
      </form>
    </div>
  );
}
