/** Saving and running a query, with the dialogs that ask before. */

import type { ComponentChild } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { problemOf } from '../../api/client.ts';
import type { Problem } from '../../api/types.ts';
import { canDryRun, reads } from '../../state/commands.ts';
import type { Draft, QueryWork } from '../../state/query-work.ts';
import type { RunRequest } from '../../state/run.ts';
import { shownValues } from '../../state/variables.ts';
import { sources } from '../../state/workspace.ts';
import { notify } from '../../ui/notice.tsx';
import { useBrokenCheck } from './broken-dialog.tsx';
import type { CheckedText } from './check.ts';
import { focusFault } from './variables-panel.tsx';
import { WriteDialog } from './write-dialog.tsx';

export interface RunActions {
  saving: boolean;
  problem: Problem | undefined;
  /** True after a run was attempted with invalid values. */
  tried: boolean;
  dialog: ComponentChild;
  save(): Promise<boolean>;
  /** Runs the query. If it writes, asks first. */
  ask(): void;
  /** Runs the query even if the hub has a cached result. */
  runFresh(): void;
}

type RunOptions = Pick<RunRequest, 'dryRun' | 'maxAffected' | 'fresh'>;
type SavedRun = RunOptions & Pick<RunRequest, 'context' | 'writes'>;

export function useRun(work: QueryWork): RunActions {
  const [tried, setTried] = useState(false);
  const [asking, setAsking] = useState(false);
  const { saving, problem, save, dialog } = useSave(work);
  const run = async (options: RunOptions = {}) => {
    const { context } = work.sent.value;
    const writes = !reads(work.draft.value?.command ?? '');
    if (await save()) await runSaved(work, { context, writes, ...options });
  };
  const ask = () => {
    setTried(true);
    if (focusFault(work)) return;
    if (reads(work.draft.value?.command ?? '')) void run();
    else setAsking(true);
  };
  useReread(work, asking);
  useShortcuts(ask, save);
  return {
    saving,
    problem,
    tried,
    dialog: asking ? (
      <RunDialog work={work} onRun={(options) => void run(options)} onClose={() => setAsking(false)} />
    ) : (
      dialog
    ),
    save,
    ask,
    runFresh: () => void run({ fresh: true }),
  };
}

/** `save` resolves to true if there is nothing to save any more. A statement with errors is saved only if the user confirms. */
function useSave(work: QueryWork) {
  const [saving, setSaving] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const broken = useBrokenCheck();
  const store = async () => {
    setProblem(undefined);
    setSaving(true);
    try {
      await work.save();
      notify('Saved.');
      return true;
    } catch (err) {
      if (work.conflict.value === undefined) setProblem(problemOf(err));
      return false;
    } finally {
      setSaving(false);
    }
  };
  const save = async () => {
    const draft = work.draft.value;
    if (draft === undefined || !work.dirty.value) return true;
    if (!(await broken.check(checkedText(work, draft), store))) return false;
    return store();
  };
  return { saving, problem, save, dialog: broken.dialog };
}

/** Runs the version that the page shows. */
async function runSaved(work: QueryWork, options: SavedRun): Promise<void> {
  // The types of the columns decide how the rows are drawn.
  await work.described();
  await work.runner.run({
    queryId: work.queryId,
    version: work.number.value,
    values: work.values.value,
    columns: work.signature.value?.columns ?? [],
    ...options,
  });
  if (work.runner.state.value.problem?.code === 'VERSION_CHANGED') await work.load({ adopt: 'never' });
  // A source that was too slow to describe the query before may answer now.
  if (work.signature.value === null) void work.describe();
}

interface RunDialogProps {
  work: QueryWork;
  onRun(options: RunOptions): void;
  onClose(): void;
}

function RunDialog({ work, onRun, onClose }: RunDialogProps) {
  const { text = '', command = '', sourceId = '' } = work.draft.value ?? {};
  return (
    <WriteDialog
      command={command}
      source={sources.value.find((one) => one.sourceId === sourceId)?.label ?? 'its source'}
      text={text}
      values={shownValues(work.fields.value, work.sent.value)}
      canDryRun={canDryRun(command, work.engine.value)}
      onRun={onRun}
      onClose={onClose}
    />
  );
}

/** The unsaved text of the query, as the hub checks it. */
export const checkedText = (
  { queryId }: QueryWork,
  { text, sourceId, command, context }: Draft,
): CheckedText => ({
  query: text,
  sourceId,
  command,
  context,
  compareTo: queryId,
});

/** Reads the query again when the tab becomes visible. What the dialog shows stays: if it is outdated, the hub refuses it. */
function useReread(work: QueryWork, asking: boolean): void {
  useEffect(() => {
    const reread = () => {
      if (document.visibilityState !== 'visible') return;
      // Without an answer, the page shows what it has, and the hub refuses to run it if it is outdated.
      work.load(asking ? { adopt: 'never' } : {}).catch(() => undefined);
    };
    document.addEventListener('visibilitychange', reread);
    return () => document.removeEventListener('visibilitychange', reread);
  }, [work, asking]);
}

/** Ctrl+Enter and Ctrl+S work in all parts of the query. */
function useShortcuts(ask: () => void, save: () => unknown): void {
  useEffect(() => {
    const keydown = (event: KeyboardEvent) => {
      if (
        !(event.ctrlKey || event.metaKey) ||
        event.defaultPrevented ||
        document.querySelector('dialog[open]')
      )
        return;
      if (event.key === 'Enter') ask();
      else if (event.key.toLowerCase() === 's') void save();
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', keydown);
    return () => removeEventListener('keydown', keydown);
  });
}
