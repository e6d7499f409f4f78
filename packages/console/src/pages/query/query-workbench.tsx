/** The editor and the variables of a query, with its rows below. */

import { useMemo } from 'preact/hooks';
import { problemOf } from '../../api/client.ts';
import type { Problem } from '../../api/types.ts';
import type { Checked } from '../../state/check.ts';
import { reads } from '../../state/commands.ts';
import { type DownloadFormat, download, saveShown } from '../../state/downloads.ts';
import type { DraftWork } from '../../state/draft-work.ts';
import { may } from '../../state/permissions.ts';
import type { Fault } from '../../ui/editor/protocol.ts';
import { bytes } from '../../ui/format.ts';
import { modifier } from '../../ui/keyboard.ts';
import { notify } from '../../ui/notice.tsx';
import { Later } from '../lazy.tsx';
import { faultsIn, useDraftCheck, wordsOf } from './check.ts';
import type { Classifying } from './classify/use-classify.tsx';
import type { Saved } from './presentation.ts';
import { Results } from './results.tsx';
import type { RunActions } from './run-actions.tsx';
import { WorkArea } from './work-area.tsx';

interface WorkbenchProps {
  work: DraftWork;
  run: RunActions;
  /** Whether the draft is checked while it is edited. */
  isChecked?: boolean;
  /** How the rows of the stored query are drawn. */
  saved?: Saved;
  classifying?: Classifying;
  onSave(): void;
}

export function QueryWorkbench({ work, run, isChecked = true, saved, classifying, onSave }: WorkbenchProps) {
  const draft = work.draft.value;
  const state = work.runner.state.value;
  const label = work.label.value;
  const checked = useDraftCheck(work, isChecked);
  const faults = useFaults(work, state.problem, checked);
  const downloading = useDownload(work, label);
  if (draft === undefined) return null;
  return (
    <>
      <WorkArea work={work} run={run} faults={faults} onSave={onSave} />
      <CheckNote checked={checked} />
      <Results
        state={state}
        label={label}
        onFresh={run.runFresh}
        saved={saved}
        classifying={classifying}
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
const mayExplain = ({ draft, engine }: DraftWork): boolean =>
  engine.value !== 'mongodb' &&
  /^(SELECT|VALUES|TABLE)$/i.test(draft.value?.command ?? '') &&
  may('queries:write') &&
  may('queries:execute');

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
      {breaking.length > 0 && <p>Publishing can break callers: {breaking.map(wordsOf).join('; ')}.</p>}
    </div>
  );
}

/**
 * The faults to mark in the editor: those of the edited text; if it is unchanged, those of the last run or description.
 */
function useFaults(work: DraftWork, problem: Problem | undefined, checked: Checked | undefined): Fault[] {
  const told = work.signature.value?.problem;
  const isDraft = work.isDraft.value;
  return useMemo(() => {
    return faultsIn(isDraft ? (checked?.problems ?? []) : [problem ?? told ?? {}]);
  }, [problem, told, isDraft, checked]);
}

function useDownload(work: DraftWork, label: string) {
  return (format: DownloadFormat) => {
    const { target } = work;
    if (target === undefined) return;
    const { context } = work.sent.value;
    download({ target, context, label, format, annotation: work.annotation }).then(
      (size) => notify(size === undefined ? 'Cancelled the download.' : `Downloaded ${bytes(size)}.`),
      (err) => {
        const { code, detail = 'The download failed.' } = problemOf(err);
        if (code === 'VERSION_CHANGED') void work.outdated();
        notify(detail);
      },
    );
  };
}
