/** The editor and the variables of a query, with its rows below. */

import { useEffect, useMemo, useState } from 'preact/hooks';
import { problemOf } from '../../api/client.ts';
import type { Problem } from '../../api/types.ts';
import { type Checked, type ContractChange, check } from '../../state/check.ts';
import { type DownloadFormat, saveShown } from '../../state/downloads.ts';
import { may } from '../../state/permissions.ts';
import type { QueryEditor } from '../../state/query-editor.ts';
import type { Fault } from '../../ui/editor/protocol.ts';
import { modifier } from '../../ui/keyboard.ts';
import { notify } from '../../ui/notice.tsx';
import type { Classifying } from './classify/use-classify.tsx';
import { ExplainView } from './explain/explain-view.tsx';
import type { Saved } from './presentation.ts';
import { Results } from './results.tsx';
import type { RunActions } from './run-actions.tsx';
import { saveRows } from './save-rows.ts';
import { StatementArea } from './statement-area.tsx';

interface WorkbenchProps {
  editor: QueryEditor;
  run: RunActions;
  /** Whether the draft is checked while it is edited. */
  isChecked?: boolean;
  /** How the rows of the stored query are drawn. */
  saved?: Saved;
  classifying?: Classifying;
  /** What callers of the stored query lose by the draft, apart from its columns and variables. */
  losses?: readonly string[];
  onSave(): void;
}

export function QueryWorkbench({
  editor,
  run,
  isChecked = true,
  saved,
  classifying,
  losses = [],
  onSave,
}: WorkbenchProps) {
  const draft = editor.draft.value;
  const state = editor.runner.state.value;
  const label = editor.label.value;
  const checked = useDraftCheck(editor, isChecked);
  const faults = useFaults(editor, state.problem, checked);
  const downloading = useDownload(editor, label);
  if (draft === undefined) return null;
  return (
    <>
      <StatementArea editor={editor} run={run} faults={faults} onSave={onSave} />
      <CheckNote checked={checked} losses={losses} />
      <Results
        state={state}
        view={editor.resultView}
        label={label}
        onFresh={run.runFresh}
        rowsOf={editor.rowsOf.value}
        onRunAgain={run.ask}
        saved={saved}
        classifying={classifying}
        explain={mayExplain(editor) ? () => <ExplainView editor={editor} /> : undefined}
        onDownload={state.made?.writes === false ? downloading : undefined}
        onSaveShown={() => state.store !== undefined && saveShown(state.store, label)}
        hint={`Run it to see its rows (${modifier}Enter).`}
      />
    </>
  );
}

/** The plan is that of the draft, which needs both scopes. */
const mayExplain = ({ draft, engine }: QueryEditor): boolean =>
  engine.value !== 'mongodb' &&
  /^(SELECT|VALUES|TABLE)$/i.test(draft.value?.command ?? '') &&
  may('queries:write') &&
  may('queries:execute');

/** Shows the faults of the edited text, and the changes that would break callers. */
function CheckNote({ checked, losses }: { checked: Checked | undefined; losses: readonly string[] }) {
  const problems = checked?.problems ?? [];
  const changes = checked?.changes?.filter((change) => change.breaking) ?? [];
  const breaking = [...losses, ...changes.map(wordsOf)];
  if (problems.length === 0 && breaking.length === 0) return null;
  return (
    <div class="check-note" role="status">
      {problems.map(({ code, detail, sql }) => (
        <p key={code + detail}>
          {sql?.line !== undefined && `Line ${sql.line}: `}
          {detail}
        </p>
      ))}
      {breaking.length > 0 && <p>Publishing can break callers: {breaking.join('; ')}.</p>}
    </div>
  );
}

/**
 * The faults to mark in the editor: those of the edited text; if it is unchanged, those of the last run or description.
 */
function useFaults(editor: QueryEditor, problem: Problem | undefined, checked: Checked | undefined): Fault[] {
  const told = editor.signature.value?.problem;
  const isDraft = editor.isDraft.value;
  return useMemo(() => {
    return faultsIn(isDraft ? (checked?.problems ?? []) : [problem ?? told ?? {}]);
  }, [problem, told, isDraft, checked]);
}

/** Downloads what made the rows that are shown, even if the page shows another text or other values. */
function useDownload(editor: QueryEditor, label: string) {
  return (format: DownloadFormat) => {
    const { made, annotation } = editor.runner.state.value;
    if (made === undefined) return;
    const { target, context } = made;
    const rowsOf = editor.rowsOf.value;
    const request = { target, context, label, format, annotation };
    saveRows(request, rowsOf).then(notify, (err) => {
      const { code, detail = 'The download failed.' } = problemOf(err);
      if (code === 'VERSION_CHANGED') void editor.outdated();
      notify(detail);
    });
  };
}

/** The pause after the last key before the check. */
const pauseMs = 500;

/**
 * Checks the draft while it is edited. Returns the result of the last check, which may be older than the text; undefined
 * if there is no draft or the check failed.
 */
function useDraftCheck(editor: QueryEditor, isOn = true): Checked | undefined {
  const [checked, setChecked] = useState<Checked>();
  const { value } = editor.draft;
  const draft = isOn && editor.isDraft.value && may('queries:write') ? value : undefined;
  const isEmpty = draft === undefined || draft.text.trim() === '' || draft.sourceId === '';
  const body = isEmpty ? undefined : JSON.stringify(editor.checkedText(draft));
  useEffect(() => {
    if (body === undefined || draft === undefined) return setChecked(undefined);
    const stop = new AbortController();
    const timer = setTimeout(() => {
      check(body, stop.signal).then(
        (answer) => {
          if (stop.signal.aborted) return;
          setChecked(answer);
          editor.setChecked(draft, answer);
        },
        // If the source is unreachable, or the key may not check, a run reports it.
        () => !stop.signal.aborted && setChecked(undefined),
      );
    }, pauseMs);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [body]);
  return body === undefined ? undefined : checked;
}

/** Describes a change, such as `the column total is removed`. */
function wordsOf({ kind, name, change, member, from, to }: ContractChange): string {
  if (change !== 'changed') return `the ${kind} ${name} is ${change}`;
  const values = from === undefined || to === undefined ? '' : `, from ${from} to ${to}`;
  return `${member ?? 'a property'} of the ${kind} ${name} changes${values}`;
}

/** Returns the problems that have a position in the text, for the editor. */
const faultsIn = (problems: Pick<Problem, 'sql' | 'detail'>[]): Fault[] =>
  problems.flatMap(({ sql, detail = '' }) =>
    sql?.line === undefined ? [] : [{ line: sql.line, column: sql.column ?? 1, message: detail }],
  );
