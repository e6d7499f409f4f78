/** The form of a new source. The hub tests the connection before it keeps the source. */

import { useState } from 'preact/hooks';
import { needs } from '../../state/permissions.ts';
import { go } from '../../state/route.ts';
import { hubId, loadTree } from '../../state/workspace.ts';
import { duration } from '../../ui/format.ts';
import { notify } from '../../ui/notice.tsx';
import { PageHead } from '../../ui/page.tsx';
import { ProblemBox } from '../../ui/problem.tsx';
import { createSource, createTested, emptyForm } from './settings.ts';
import { SourceFields } from './source-form.tsx';
import { useSourceForm } from './use-source-form.ts';

export function NewSource() {
  const [form, set] = useState(emptyForm);
  const { faults, busy, problem, change, attempt } = useSourceForm({ form, set }, { leaves: true });
  const hub = hubId.value ?? '';
  const show = async (sourceId: string) => {
    await loadTree();
    go('hub', hub, 'source', sourceId);
  };
  const submit = (event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    void attempt(event.currentTarget, async () => {
      const { sourceId, tested } = await createTested(hub, form);
      notify(`Connected in ${duration(tested.latencyMs)}: ${tested.serverVersion}.`);
      await show(sourceId);
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
                  currentTarget.form &&
                  void attempt(currentTarget.form, async () => show(await createSource(hub, form)))
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
