/** Trains with a file that the hub takes as it is: it is sent in pieces, and says how far it is. */

import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { isAnswerLost } from '../../api/changes.ts';
import { callJson, part, problemOf } from '../../api/client.ts';
import type { Answer, Problem } from '../../api/types.ts';
import { bytes, counted } from '../../ui/format.ts';
import { ProblemBox } from '../../ui/problem.tsx';
import { type ImportFormat, type Piece, piecesOf } from './import.ts';

type Imported = Extract<Answer<'POST /v1/classifiers/{classifierId}/train'>, { faults: unknown }>;

interface State extends Imported {
  status: 'ready' | 'running' | 'stopping' | 'stopped' | 'done' | 'failed';
  bytesRead: number;
}

export interface ChosenFile {
  file: File;
  format: ImportFormat;
}

const faultsShownMax = 5;
const start: State = { status: 'ready', bytesRead: 0, trained: 0, skipped: 0, faults: [] };

/** Sends the pieces one after the other. It stops between two of them, and can go on there. */
function useImport(classifierId: string, { file, format }: ChosenFile, onTrained: () => void) {
  const [state, setState] = useState(start);
  const [problem, setProblem] = useState<Problem>();
  const pieces = useRef<AsyncGenerator<Piece> | undefined>(undefined);
  const stopping = useRef(false);
  // Before the button is drawn: a press that came earlier would find no pieces and end without training.
  useLayoutEffect(() => {
    pieces.current = piecesOf(file, format);
    setState(start);
    setProblem(undefined);
    return () => {
      stopping.current = true;
      void pieces.current?.return(undefined);
    };
  }, [file, format]);
  const run = async () => {
    stopping.current = false;
    setState((now) => ({ ...now, status: 'running' }));
    try {
      for (;;) {
        const next = await pieces.current?.next();
        if (next === undefined || next.done) break;
        const { body, bytesRead, lineOf } = next.value;
        const answer = await callJson<Imported>(`v1/classifiers/${part(classifierId)}/train`, {
          body,
          headers: { 'content-type': format.mediaType },
        });
        setState((now) => ({ ...now, bytesRead, ...added(now, answer, lineOf) }));
        if (stopping.current) return setState((now) => ({ ...now, status: 'stopped' }));
      }
      setState((now) => ({ ...now, status: 'done', bytesRead: file.size }));
    } catch (err) {
      setProblem(problemOf(err));
      setState((now) => ({ ...now, status: 'failed' }));
    } finally {
      onTrained();
    }
  };
  const stop = () => {
    stopping.current = true;
    setState((now) => ({ ...now, status: 'stopping' }));
  };
  return { state, problem, run, stop };
}

const added = (now: Imported, answer: Imported, lineOf: (line: number) => number): Imported => ({
  trained: now.trained + answer.trained,
  skipped: now.skipped + answer.skipped,
  faults: [...now.faults, ...answer.faults.map(({ line, detail }) => ({ line: lineOf(line), detail }))].slice(
    0,
    faultsShownMax,
  ),
});

interface FileImportProps {
  classifierId: string;
  chosen: ChosenFile;
  onTrained(): void;
}

export function FileImport({ classifierId, chosen, onTrained }: FileImportProps) {
  const { state, problem, run, stop } = useImport(classifierId, chosen, onTrained);
  const { status, trained, skipped, faults, bytesRead } = state;
  const { name, size } = chosen.file;
  const isRunning = status === 'running' || status === 'stopping';
  return (
    <div class="form" role="group" aria-label={`Import of ${name}`}>
      <p class="hint">
        {name}: {bytes(size)} of {chosen.format.mediaType === 'text/csv' ? 'CSV' : 'NDJSON'} with labels and
        texts.
      </p>
      {status !== 'ready' && (
        <div class="progress" role="status">
          <progress max={size} value={bytesRead} aria-label="Part of the file that was read" />
          <span>
            {counted(trained, 'example')} learned{status === 'stopped' && ', stopped'}
            {problem !== undefined && isAnswerLost(problem) && ', perhaps more'}
          </span>
          {isRunning && (
            <button type="button" disabled={status === 'stopping'} onClick={stop}>
              Stop
            </button>
          )}
        </div>
      )}
      {skipped > 0 && (
        <p class="banner">
          {counted(skipped, 'line')} left out:{' '}
          {faults.map(({ line, detail }) => `line ${line} ${detail}`).join('; ')}
          {skipped > faults.length && ' …'}
        </p>
      )}
      {problem !== undefined && <ProblemBox problem={problem} />}
      {(status === 'ready' || status === 'stopped') && (
        <div class="actions start">
          <button type="button" class="primary" onClick={() => void run()}>
            {status === 'ready' ? `Train with ${name}` : 'Train with the rest'}
          </button>
        </div>
      )}
    </div>
  );
}
