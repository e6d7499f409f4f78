/** The slowest and most failing queries of the account. */

import { useState } from 'preact/hooks';
import { callJson } from '../../api/client.ts';
import { linkTo } from '../../state/route.ts';
import { hubs } from '../../state/workspace.ts';
import { count } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { Shown } from '../../ui/listed.tsx';
import { useLoad } from '../../ui/load.tsx';
import { PageHead, Tabs } from '../../ui/page.tsx';
import { Scrolling, TableHead } from '../../ui/table.tsx';
import { partOf, type StatisticsList, time } from './figures.ts';
import { FleetNote } from './fleet-note.tsx';

const sorts = [
  ['p99', 'Slowest'],
  ['errors', 'Most errors'],
  ['rows', 'Most rows'],
] as const;
const windows = [
  ['lastHour', 'Last hour'],
  ['sinceStart', 'Since the start'],
] as const;
type Window = (typeof windows)[number][0];
const queriesMax = 100;

export function StatisticsPage() {
  const [sort, setSort] = useState('p99');
  const [window, setWindow] = useState<Window>('lastHour');
  const path = `v1/stats?sort=${sort}&window=${window}&limit=${queriesMax}`;
  const loaded = useLoad((signal) => callJson<StatisticsList>(path, { signal }), [path]);
  return (
    <div>
      <PageHead title="Statistics" tags={['all hubs']}>
        <select
          class="statistics-window"
          aria-label="Time"
          value={window}
          onChange={({ currentTarget }) => setWindow(currentTarget.value as Window)}
        >
          {windows.map(([name, label]) => (
            <option key={name} value={name}>
              {label}
            </option>
          ))}
        </select>
        <button type="button" onClick={loaded.refresh} disabled={loaded.loading}>
          <Icon name="refresh" /> Refresh
        </button>
      </PageHead>
      <Tabs label="Order of the queries" tabs={sorts} value={sort} onChange={setSort} />
      <div class="page">
        <Shown of={loaded} what="the statistics">
          {(list) => (
            <>
              {list.queries.length > 0 && <QueryTable list={list} window={window} />}
              {list.queries.length === 0 && (
                <p class="empty">
                  {sort === 'errors' ? 'No query failed' : 'No query was called'}{' '}
                  {window === 'lastHour' ? 'in the last hour.' : 'since the hub started.'}{' '}
                  {window === 'lastHour' && (
                    <button type="button" onClick={() => setWindow('sinceStart')}>
                      Show all since the start
                    </button>
                  )}
                </p>
              )}
              {list.queries.length > 0 && (
                <p class="hint">p99: of 100 calls, 99 took no longer. Runs in the console are not counted.</p>
              )}
              <FleetNote fleet={list} />
            </>
          )}
        </Shown>
      </div>
    </div>
  );
}

function QueryTable({ list, window }: { list: StatisticsList; window: Window }) {
  const hubOf = (id: string) => hubs.value?.find(({ hubId }) => hubId === id)?.label ?? '';
  return (
    <Scrolling label="Queries">
      <table class="facts statistics-list folded">
        <TableHead names={['Query']} numbers={['Calls', 'Failed', 'p50', 'p99', 'Rows']}>
          <th scope="col">Hub</th>
        </TableHead>
        <tbody>
          {list.queries.map(({ queryId, hubId, label, [window]: figures }) => (
            <tr key={queryId}>
              <th scope="row">
                <a href={linkTo('hub', hubId, 'query', queryId, 'statistics')}>{label}</a>
              </th>
              <td class="right">{count(figures.count)}</td>
              <td class="right">{partOf(figures.failed, figures.count)}</td>
              <td class="right">{time(figures.totalMs?.p50)}</td>
              <td class="right">{time(figures.totalMs?.p99)}</td>
              <td class="right">{count(figures.rows)}</td>
              <td class="cut-text">{hubOf(hubId)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolling>
  );
}
