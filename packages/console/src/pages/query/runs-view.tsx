/** The runs of this tab. */

import type { PastRun } from '../../state/run.ts';
import type { StoredQueryEditor } from '../../state/stored-query-editor.ts';
import { count, duration } from '../../ui/format.ts';
import { Scrolling, TableHead } from '../../ui/table.tsx';

const time = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });
const words: Record<PastRun['status'], string> = {
  idle: '',
  running: 'running',
  done: 'done',
  failed: 'failed',
  cancelled: 'cancelled',
};

export function RunsView({ editor, onReuse }: { editor: StoredQueryEditor; onReuse(run: PastRun): void }) {
  const runs = editor.runner.past.value;
  if (runs.length === 0)
    return <p class="page empty">No runs in this tab yet. They are listed here until the tab is closed.</p>;
  return (
    <div class="page">
      <Scrolling label="Runs">
        <table class="facts">
          <TableHead names={['At', 'Result']} numbers={['Rows', 'Took']}>
            <th scope="col">Values</th>
            <th scope="col">
              <span class="sr-only">Action</span>
            </th>
          </TableHead>
          <tbody>
            {runs.map((run) => (
              <tr key={run.id}>
                <td>{time.format(run.at)}</td>
                <td>
                  {words[run.status]}
                  {run.isDraft && ', draft'}
                  {run.dryRun && ', dry run'}
                  {run.code !== undefined && `: ${run.code}`}
                </td>
                <td class="right">{count(run.rows)}</td>
                <td class="right">{duration(run.totalMs)}</td>
                <td class="mono cut-text" title={run.shown}>
                  {run.shown}
                </td>
                <td class="right">
                  <button type="button" onClick={() => onReuse(run)}>
                    Use these values
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolling>
    </div>
  );
}
