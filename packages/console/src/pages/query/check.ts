/** The hub's check of an edited text while it is edited, and the words for what it finds. */

import { useEffect, useState } from 'preact/hooks';
import type { Problem } from '../../api/types.ts';
import { type Checked, type ContractChange, check } from '../../state/check.ts';
import { may } from '../../state/permissions.ts';
import type { QueryEditor } from '../../state/query-editor.ts';
import type { Fault } from '../../ui/editor/protocol.ts';

/** The pause after the last key before the check. */
const pauseMs = 500;

/**
 * Checks the draft while it is edited. Returns the result of the last check, which may be older than the text; undefined
 * if there is no draft or the check failed.
 */
export function useDraftCheck(editor: QueryEditor, isOn = true): Checked | undefined {
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
export function wordsOf({ kind, name, change, member, from, to }: ContractChange): string {
  if (change !== 'changed') return `the ${kind} ${name} is ${change}`;
  const values = from === undefined || to === undefined ? '' : `, from ${from} to ${to}`;
  return `${member ?? 'a property'} of the ${kind} ${name} changes${values}`;
}

/** Returns the problems that have a position in the text, for the editor. */
export const faultsIn = (problems: Pick<Problem, 'sql' | 'detail'>[]): Fault[] =>
  problems.flatMap(({ sql, detail = '' }) =>
    sql?.line === undefined ? [] : [{ line: sql.line, column: sql.column ?? 1, message: detail }],
  );
