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
  /** Shows another value without asking for it. */
  set(value: T): void;
}

export function useLoad<T>(read: (signal: AbortSignal) => Promise<T>, on: unknown[]): Loaded<T> {
  const [state, setState] = useState<{ value?: T; problem?: Problem; loading: boolean }>({ loading: true });
  const [turn, setTurn] = useState(0);
  const latest = useRef(read);
  latest.current = read;
  useEffect(() => {
    const stop = new AbortController();
    setState(({ value }) => (turn > 0 && value !== undefined ? { value, loading: true } : { loading: true }));
    latest.current(stop.signal).then(
      (value) => !stop.signal.aborted && setState({ value, loading: false }),
      (err) => {
        if (!stop.signal.aborted && !isAborted(err)) setState({ problem: problemOf(err), loading: false });
      },
    );
    return () => stop.abort();
  }, [...on, turn]);
  // What failed because the hub did not answer is read again when it answers.
  const isUnanswered = useRef(false);
  isUnanswered.current = state.problem?.status === 0;
  useEffect(
    () =>
      restored.subscribe(() => {
        if (isUnanswered.current) setTurn((n) => n + 1);
      }),
    [],
  );
  const refresh = useCallback(() => setTurn((n) => n + 1), []);
  const set = useCallback((value: T) => setState({ value, loading: false }), []);
  return { value: state.value, problem: state.problem, loading: state.loading, refresh, set };
}
