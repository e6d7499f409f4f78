/** The editor and the variables of a query, with its rows below. */

import { useMemo } from 'preact/hooks';
import { problemOf } from '../../api/client.ts';
import type { Problem } from '../../api/types.ts';
import { reads } from '../../state/commands.ts';
import { type DownloadFormat, download, saveShown } from '../../state/downloads.ts';
import { may } from '../../state/permissions.ts';
import type { QueryWork } from '../../state/query-work.ts';
import { namesIn } from '../../state/variables.ts';
import { CodeEditor } from '../../ui/editor/code-editor.tsx';
import type { Fault } from '../../ui/editor/protocol.ts';
import { bytes } from '../../ui/format.ts';
import { modifier } from '../../ui/keyboard.ts';
import { notify } from '../../ui/notice.tsx';
import { Later } from '../lazy.tsx';
import { type Checked, faultsIn, useCheck, wordsOf } from './check.ts';
import { Results } from './results.tsx';
import { checkedText, type RunActions } from './run-actions.tsx';
import { VariablesPanel } from './variables-panel.tsx';

export function QueryWorkbench({ work, run }: { work: QueryWork; run: RunActions }) {
  const draft = work.draft.value;
  const state = work.runner.state.value;
  const label = work.stored.value?.meta.label ?? 'rows';
  const checked = useDraftCheck(work);
  const faults = useFaults(work, state.problem, checked);
  const downloading = useDownload(work, label);
  if (draft === undefined) return null;
  return (
    <>
      <div class="work">
        <CodeEditor
          text={draft.text}
          engine={work.engine.value}
          sourceId={draft.sourceId}
          label="Statement"
          faults={faults}
          readOnly={!may('queries:write')}
          variables={() => [
            ...new Set([
              ...namesIn(work.draft.value?.text ?? '', work.engine.value),
              ...draft.context.map(({ key }) => key),
            ]),
          ]}
          onChange={(text) => work.edit({ text })}
          onRun={run.ask}
          onSave={() => void run.save()}
        />
        <VariablesPanel work={work} shown={run.tried} />
      </div>
      <CheckNote checked={checked} />
      <Results
        state={state}
        label={label}
        onFresh={run.runFresh}
        saved={{
          presentation: work.stored.value?.config.presentation ?? {},
          save: (change) => work.present(change),
        }}
        explain={
          mayExplain(work)
            ? () => <Later>{({ ExplainView }) => <ExplainView work={work} />}</Later>
            : undefined
        }
        onDownload={reads(draft.command) ? downloading : undefined}
        onSaveShown={() => state.store !== undefined && saveShown(state.store, label)}
        hint={`Run it to see its rows (${modifier}Enter).`}
      />
    </>
  );
}

/** The plan is that of the draft, which needs both scopes. */
const mayExplain = ({ draft, engine }: QueryWork): boolean =>
  engine.value !== 'mongodb' &&
  /^(SELECT|VALUES|TABLE)$/i.test(draft.value?.command ?? '') &&
  may('queries:write') &&
  may('queries:execute');

function useDraftCheck(work: QueryWork): Checked | undefined {
  const { value } = work.draft;
  return useCheck(value !== undefined && work.dirty.value ? checkedText(work, value) : undefined);
}

/** Shows the faults of the edited text, and the changes that would break callers. */
function CheckNote({ checked }: { checked: Checked | undefined }) {
  const problems = checked?.problems ?? [];
  const breaking = checked?.changes?.filter((change) => change.breaking) ?? [];
  if (problems.length === 0 && breaking.length === 0) return null;
  return (
    <div class="check-note" role="status">
      {problems.map(({ code, detail, sql }) => (
        <p key={code + detail}>
          {sql?.line !== undefined && `Line ${sql.line}: `}
          {detail}
        </p>
      ))}
      {breaking.length > 0 && <p>Saving can break callers: {breaking.map(wordsOf).join('; ')}.</p>}
    </div>
  );
}

/**
 * The faults to mark in the editor: those of the edited text; if it is unchanged, those of the last run or description.
 */
function useFaults(work: QueryWork, problem: Problem | undefined, checked: Checked | undefined): Fault[] {
  const told = work.signature.value?.problem;
  const dirty = work.dirty.value;
  return useMemo(() => {
    return faultsIn(dirty ? (checked?.problems ?? []) : [problem ?? told ?? {}]);
  }, [problem, told, dirty, checked]);
}

function useDownload(work: QueryWork, label: string) {
  return (format: DownloadFormat) => {
    const { queryId } = work;
    const [version, { context }] = [work.number.value, work.sent.value];
    download({ queryId, version, context, label, format }).then(
      (size) => notify(size === undefined ? 'Cancelled the download.' : `Downloaded ${bytes(size)}.`),
      (err) => {
        const { code, detail = 'The download failed.' } = problemOf(err);
        if (code === 'VERSION_CHANGED') void work.load({ adopt: 'never' });
        notify(detail);
      },
    );
  };
}
