/** A run of a watch: how it ended, and the rows that it told. */

import { callJson, part } from '../../api/client.ts';
import { toText } from '../../api/exact.ts';
import { linkTo } from '../../state/route.ts';
import { hubId } from '../../state/workspace.ts';
import { count, counted, duration, exactMoment } from '../../ui/format.ts';
import { Listed } from '../../ui/listed.tsx';
import { useLoad } from '../../ui/load.tsx';
import { Loading, PageHead } from '../../ui/page.tsx';
import { ProblemBox } from '../../ui/problem.tsx';
import { Scrolling } from '../../ui/table.tsx';
import { FactList } from './fact-list.tsx';
import { addressOf, changesOf, type Run, type Watch } from './words.ts';

interface RunPageProps {
  watchId: string;
  runId: string;
}

export function RunPage({ watchId, runId }: RunPageProps) {
  const address = `${addressOf(watchId)}/runs/${part(runId)}`;
  const loaded = useLoad(
    async (signal) => {
      const [watch, run] = await Promise.all([
        callJson<Watch>(addressOf(watchId), { signal }),
        callJson<Run>(address, { signal }),
      ]);
      return { watch, run };
    },
    [watchId, runId],
  );
  if (loaded.value === undefined)
    return (
      <div class="page">
        {loaded.problem === undefined ? <Loading what="the run" /> : <ProblemBox problem={loaded.problem} />}
      </div>
    );
  const { watch, run } = loaded.value;
  return (
    <div class="page">
      <PageHead title={`Run of ${watch.label}`} tags={[run.outcome]}>
        <a class="button" href={linkTo('hub', hubId.value ?? '', 'watches', watchId)}>
          All runs
        </a>
      </PageHead>
      <Facts of={run} watch={watch} />
      {run.hasRows && <ToldRows address={`${address}/rows`} />}
    </div>
  );
}

function Facts({ of: run, watch }: { of: Run; watch: Watch }) {
  const { dueAt, untilAt, ticks, manual, startedAt, endedAt, durationMs, rows } = run;
  return (
    <FactList
      facts={[
        [manual ? 'Asked for' : 'Due', exactMoment(dueAt)],
        [
          'Stands for',
          ticks > 1 ? `${counted(ticks, 'tick')}, the last at ${exactMoment(untilAt)}` : undefined,
        ],
        ['Started', startedAt && exactMoment(startedAt)],
        ['Ended', exactMoment(endedAt)],
        ['Took', durationMs === null ? undefined : duration(durationMs)],
        ['Code', run.code],
        ['Why', run.detail],
        ['Rows', rows === null ? undefined : count(rows)],
        ['Changes', changesOf(run, watch)],
        ['Version of the query', run.queryVersion === null ? undefined : count(run.queryVersion)],
        ['Event', run.eventId === null ? 'none' : <code key="event">{run.eventId}</code>],
      ]}
    />
  );
}

const rowsMax = 200;

function ToldRows({ address }: { address: string }) {
  const told = useLoad(
    (signal) => callJson<{ data: Record<string, unknown>[] }>(address, { signal }),
    [address],
  );
  return (
    <section aria-label="Rows that it told" class="told">
      <h2>Rows that it told</h2>
      <Listed of={{ ...told, value: told.value?.data }} what="rows" empty="It told no rows.">
        {(rows) => <RowTable rows={rows} />}
      </Listed>
    </section>
  );
}

function RowTable({ rows }: { rows: readonly Record<string, unknown>[] }) {
  const columns = Object.keys(rows[0] ?? {});
  const isNumber = (name: string) =>
    rows.every((row) => row[name] === null || /^-?\d/.test(JSON.stringify(row[name])));
  const sides = columns.map((name) => (isNumber(name) ? 'right' : undefined));
  return (
    <>
      <Scrolling label="Rows">
        <table class="facts fitted">
          <thead>
            <tr>
              {columns.map((name, at) => (
                <th key={name} scope="col" class={sides[at]}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, rowsMax).map((row, at) => (
              // Rows have no name, and their order stays.
              <tr key={at}>
                {columns.map((name, side) => (
                  <td key={name} class={sides[side]}>
                    {row[name] === null ? <i class="note">null</i> : toText(row[name])}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolling>
      {rows.length > rowsMax && <p class="hint">And {counted(rows.length - rowsMax, 'row')} more.</p>}
    </>
  );
}
