/** Starts a job that trains with the rows of a stored query. */

import { useState } from 'preact/hooks';
import { callJson, part, problemOf } from '../../api/client.ts';
import { objectOf } from '../../api/exact.ts';
import type { Problem } from '../../api/types.ts';
import { ProblemBox } from '../../ui/problem.tsx';
import { type ColumnUse, QueryRowsFields, useQueryRows } from '../query/query-rows.tsx';
import { labelNames, textNames } from './examples.ts';

const uses: ColumnUse[] = [
  { member: 'text', label: 'Column of the text', defaultNames: textNames },
  { member: 'label', label: 'Column of the label', defaultNames: labelNames },
  {
    member: 'id',
    label: 'Column of the id',
    defaultNames: ['id'],
    hint: 'Identifies a row. The next time, rows that did not change are skipped.',
  },
];

interface QueryTrainingProps {
  classifierId: string;
  onStarted(jobId: string): void;
}

export function QueryTraining({ classifierId, onStarted }: QueryTrainingProps) {
  const rows = useQueryRows(uses);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const submit = async (event: Event) => {
    event.preventDefault();
    const members = rows.members();
    if (members === undefined) return;
    setBusy(true);
    setProblem(undefined);
    try {
      const path = `v1/classifiers/${part(classifierId)}/train`;
      const { jobId } = await callJson<{ jobId: string }>(path, { body: objectOf(members) });
      onStarted(jobId);
    } catch (err) {
      setProblem(problemOf(err));
      setBusy(false);
    }
  };
  return (
    <form class="form" onSubmit={submit} aria-label="Rows of a query">
      <h2>Rows of a query</h2>
      <QueryRowsFields rows={rows} />
      {problem !== undefined && <ProblemBox problem={problem} />}
      <div class="actions start">
        <button type="submit" class="primary" disabled={busy || !rows.isReady}>
          Train with its rows
        </button>
      </div>
    </form>
  );
}
