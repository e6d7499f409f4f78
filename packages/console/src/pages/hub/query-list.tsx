/** All queries of a hub: what they do, how they are used, and which of them are broken. */

import { useState } from 'preact/hooks';
import type { ListedQuery } from '../../api/types.ts';
import { reads } from '../../state/commands.ts';
import { linkTo } from '../../state/route.ts';
import { foldersAbove } from '../../state/workspace.ts';
import { count, counted, moment } from '../../ui/format.ts';
import { Scrolling } from '../../ui/table.tsx';
import { time } from '../statistics/figures.ts';

const shownMax = 100;

export function QueryList({ queries }: { queries: ListedQuery[] }) {
  const [filter, setFilter] = useState('');
  const wanted = filter.trim().toLowerCase();
  const nameOf = (query: ListedQuery) =>
    [...foldersAbove(query.config.query.queryId), query.meta.label].join(' / ');
  const found = queries.filter((query) => nameOf(query).toLowerCase().includes(wanted));
  const shown = found.toSorted((one, other) => rankOf(one) - rankOf(other)).slice(0, shownMax);
  if (queries.length === 0) return null;
  return (
    <>
      <div class="list-head">
        <h2>All queries</h2>
        <span class="note">{count(queries.length)}, broken ones first; calls since the hub started</span>
        <span class="spring" />
        <input
          class="filter"
          type="search"
          aria-label="Filter queries"
          placeholder="Filter queries"
          value={filter}
          onInput={({ currentTarget }) => setFilter(currentTarget.value)}
        />
      </div>
      {found.length === 0 && (
        <p class="empty">None of {counted(queries.length, 'query', 'queries')} has that name.</p>
      )}
      <Scrolling label="All queries">
        <table class="facts query-list">
          <thead>
            <tr>
              <th scope="col">Query</th>
              <th scope="col">Does</th>
              <th scope="col" class="right" title="Since the hub started">
                Calls
              </th>
              <th scope="col" class="right">
                p95
              </th>
              <th scope="col">Last change</th>
              <th scope="col">State</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((query) => (
              <QueryRow key={query.config.query.queryId} query={query} />
            ))}
          </tbody>
        </table>
      </Scrolling>
      {found.length > shownMax && (
        <p class="hint">
          The first {shownMax} of {count(found.length)}.
        </p>
      )}
    </>
  );
}

function QueryRow({ query }: { query: ListedQuery }) {
  const figures = query.stats?.sinceStart;
  const { queryId } = query.config.query;
  const folders = foldersAbove(queryId);
  const isRead = reads(query.config.command);
  return (
    <tr>
      <th scope="row">
        {folders.length > 0 && <span class="note">{folders.join(' / ')} / </span>}
        <a href={linkTo('hub', query.meta.hubId, 'query', queryId)}>{query.meta.label}</a>
      </th>
      <td class={isRead ? 'note' : 'writes'}>{isRead ? 'reads' : 'writes'}</td>
      <td class="right">{figures === undefined ? '–' : count(figures.count)}</td>
      <td class="right">{time(figures?.totalMs?.p95)}</td>
      <td>{query.latest === undefined ? '' : moment(query.latest.at)}</td>
      <td>
        <State query={query} />
      </td>
    </tr>
  );
}

const rankOf = ({ state, drift }: ListedQuery): number =>
  state === 'broken' ? 0 : drift === undefined ? 2 : 1;

function State({ query: { state, problem, drift } }: { query: ListedQuery }) {
  if (state === 'broken') {
    return (
      <>
        <span class="tag bad">broken</span> <span class="bad-text">{problem?.detail}</span>
      </>
    );
  }
  return drift === undefined ? null : <span class="note">its columns changed</span>;
}
