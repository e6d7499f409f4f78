/** Reads something for a view, again when asked, and never shows an answer that was overtaken. */

import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { isAborted, problemOf } from '../api/client.ts';
import { restored } from '../api/connection.ts';
import type { Problem } from '../api/types.ts';

export interface Loaded<T> {
  value: T | undefined;
  problem: Problem | undefined;
  loading: boolean;
  refresh(): void;
}

/** The last answer, with what it was read for. */
interface Answer<T> {
  on: unknown[];
  turn: number;
  value?: T;
  problem?: Problem;
}

export function useLoad<T>(read: (signal: AbortSignal) => Promise<T>, on: unknown[]): Loaded<T> {
  const [answer, setAnswer] = useState<Answer<T>>();
  const [turn, setTurn] = useState(0);
  const latest = useRef(read);
  latest.current = read;
  useEffect(() => {
    const stop = new AbortController();
    setAnswer((before) => (isFor(before, on) ? before : undefined));
    latest.current(stop.signal).then(
      (value) => !stop.signal.aborted && setAnswer({ on, turn, value }),
      (err) => {
        if (!stop.signal.aborted && !isAborted(err)) setAnswer({ on, turn, problem: problemOf(err) });
      },
    );
    return () => stop.abort();
  }, [...on, turn]);
  // The effect runs only after the next frame, and until then a person could act on an answer to something else.
  const fitting = isFor(answer, on) ? answer : undefined;
  const loading = fitting?.turn !== turn;
  const problem = loading ? undefined : fitting?.problem;
  // What failed because the hub did not answer is read again when it answers.
  const isUnanswered = useRef(false);
  isUnanswered.current = problem?.status === 0;
  useEffect(
    () =>
      restored.subscribe(() => {
        if (isUnanswered.current) setTurn((n) => n + 1);
      }),
    [],
  );
  const refresh = useCallback(() => setTurn((n) => n + 1), []);
  return { value: fitting?.value, problem, loading, refresh };
}

const isFor = (answer: Answer<unknown> | undefined, on: unknown[]): boolean =>
  answer?.on.every((one, i) => Object.is(one, on[i])) === true;
