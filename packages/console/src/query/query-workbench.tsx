/** The editor and the variables of a query, with its rows below. */

import type { ComponentChild } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { isAborted, problemOf } from '../api/client.ts';
import { may } from '../api/permissions.ts';
import type { Problem } from '../api/types.ts';
import type { Fault } from '../editor/protocol.ts';
import { bytes } from '../parts/format.ts';
import { notify } from '../parts/notice.tsx';
import { type DownloadFormat, download, saveShown } from '../run/downloads.ts';
import { Results } from '../run/results.tsx';
import type { RunRequest } from '../run/run.ts';
import { WriteDialog } from '../run/write-dialog.tsx';
import { modifier } from '../shell/bar.tsx';
import { sources } from '../shell/workspace.ts';
import { namesIn } from '../variables/variables.ts';
import { focusFault, VariablesPanel } from '../variables/variables-panel.tsx';
import { type Checked, faultsIn, useCheck, wordsOf } from './check.ts';
import { CodeEditor } from './code-editor.tsx';
import { canDryRun, reads } from './commands.ts';
import type { QueryWork } from './work.ts';

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

export function useRun(work: QueryWork): RunActions {
  const [saving, setSaving] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const [tried, setTried] = useState(false);
  const [asking, setAsking] = useState(false);
  const save = async () => {
    setProblem(undefined);
    if (!work.dirty.value) return true;
    setSaving(true);
    try {
      await work.save();
      notify('Saved.');
      return true;
    } catch (err) {
      setProblem(problemOf(err));
      return false;
    } finally {
      setSaving(false);
    }
  };
  const run = async (options: Pick<RunRequest, 'dryRun' | 'maxAffected' | 'fresh'> = {}) => {
    if (!(await save())) return;
    const command = work.draft.value?.command ?? '';
    const { context } = work.sent.value;
    // The types of the columns decide how the rows are drawn.
    await work.described();
    const columns = work.signature.value?.columns ?? [];
    const values = work.values.value;
    await work.runner.run({
      queryId: work.queryId,
      context,
      values,
      columns,
      writes: !reads(command),
      ...options,
    });
    // A source that was too slow to describe the query before may answer now.
    if (work.signature.value === null) void work.describe();
  };
  const ask = () => {
    setTried(true);
    if (focusFault(work)) return;
    if (reads(work.draft.value?.command ?? '')) void run();
    else setAsking(true);
  };
  const { command = '', sourceId = '' } = work.draft.value ?? {};
  const dialog = asking && (
    <WriteDialog
      command={command}
      source={sources.value.find((one) => one.sourceId === sourceId)?.label ?? 'its source'}
      canDryRun={canDryRun(command, work.engine.value)}
      onRun={(options) => void run(options)}
      onClose={() => setAsking(false)}
    />
  );
  useShortcuts(ask, save);
  return { saving, problem, tried, dialog, save, ask, runFresh: () => void run({ fresh: true }) };
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
        onDownload={reads(draft.command) ? downloading : undefined}
        onSaveShown={() => state.store !== undefined && saveShown(state.store, label)}
        hint={`Run it to see its rows (${modifier}Enter).`}
      />
    </>
  );
}

function useDraftCheck({ draft, dirty, queryId }: QueryWork): Checked | undefined {
  const { value } = draft;
  const edited = value !== undefined && dirty.value ? value : undefined;
  return useCheck(
    edited && {
      query: edited.text,
      sourceId: edited.sourceId,
      command: edited.command,
      context: edited.context,
      compareTo: queryId,
    },
  );
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
    const stop = new AbortController();
    notify('Downloading the rows …');
    download({
      queryId: work.queryId,
      context: work.sent.value.context,
      label,
      format,
      signal: stop.signal,
    }).then(
      (size) => notify(`Downloaded ${bytes(size)}.`),
      (err) => !isAborted(err) && notify(problemOf(err).detail ?? 'The download failed.'),
    );
  };
}
