/** The hub's check of an edited text: its faults, and the changes that break callers. */

import { useEffect, useState } from 'preact/hooks';
import { callJson } from '../../api/client.ts';
import type { Problem, Signature, Variable } from '../../api/types.ts';
import { may } from '../../state/permissions.ts';
import type { Fault } from '../../ui/editor/protocol.ts';

export interface ContractChange {
  kind: 'column' | 'variable';
  name: string;
  change: 'added' | 'removed' | 'changed';
  breaking: boolean;
  member?: string;
  from?: string;
  to?: string;
}

export interface Checked {
  signature: Signature | null;
  problems: { severity: 'error' | 'warning'; code: string; detail: string; sql?: Problem['sql'] }[];
  changes?: ContractChange[];
}

export interface CheckedText {
  sourceId: string;
  query: string;
  command?: string;
  context: Variable[];
  /** The stored query whose callers would get the new text. */
  compareTo?: string;
}

/** The pause after the last key before the check. */
const pauseMs = 500;

/**
 * The result of the last check, which may be older than the text; undefined if there is no text or the check failed.
 */
export function useCheck(text: CheckedText | undefined): Checked | undefined {
  const [checked, setChecked] = useState<Checked>();
  const body =
    text === undefined || text.query.trim() === '' || text.sourceId === '' || !may('queries:write')
      ? undefined
      : JSON.stringify(text);
  useEffect(() => {
    if (body === undefined) return setChecked(undefined);
    const stop = new AbortController();
    const timer = setTimeout(() => {
      callJson<Checked>('v1/queries/check', { body, signal: stop.signal }).then(
        (answer) => !stop.signal.aborted && setChecked(answer),
        // If the source is unreachable, or the key may not check, saving reports it.
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

const errorsMs = 10_000;

/**
 * The errors of a text that is about to be saved. Resolves to none if the hub cannot tell in time, because the source is
 * unreachable or the key may not check.
 */
export async function errorsIn(text: CheckedText): Promise<Checked['problems']> {
  const signal = AbortSignal.timeout(errorsMs);
  const checked = await callJson<Checked>('v1/queries/check', { body: text, signal }).catch(() => undefined);
  return checked?.problems.filter(({ severity }) => severity === 'error') ?? [];
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
