/** The results of a run: its figures, its rows as a table, a chart or JSON, and downloads. */

import type { Signal } from '@preact/signals';
import type { ComponentChild } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { type DownloadFormat, downloads } from '../../state/downloads.ts';
import type { RowStore } from '../../state/rows/row-store.ts';
import { mayBeWritten, type ResultView, type RunState, shownRowsMax } from '../../state/run.ts';
import { count, counted, duration, exactMoment } from '../../ui/format.ts';
import { GridView } from '../../ui/grid/grid-view.tsx';
import { type Arranged, type InSight, useArranged } from '../../ui/grid/use-arranged.ts';
import { Icon } from '../../ui/icons.tsx';
import { Menu } from '../../ui/menu.tsx';
import { ProblemBox } from '../../ui/problem.tsx';
import { ChartView } from './chart-view.tsx';
import type { Classifying } from './classify/use-classify.tsx';
import type { Saved } from './presentation.ts';

interface ResultsProps {
  state: RunState;
  view: Signal<ResultView>;
  label: string;
  /** Runs the query again and saves the rows in a file; undefined if the query writes. */
  onDownload: ((format: DownloadFormat) => void) | undefined;
  onSaveShown(): void;
  /** Draws the plan of the statement; undefined if the database or the key gives none. */
  explain?: (() => ComponentChild) | undefined;
  /** Labels columns with classifiers; undefined for rows without a stored query. */
  classifying?: Classifying | undefined;
  /** What the query draws; undefined for rows without a stored query. */
  saved?: Saved;
  /** Runs the query even if the hub has a cached result. */
  onFresh?: () => void;
  /** What made the rows, if it is not what the page shows. */
  rowsOf?: string | undefined;
  onRunAgain?: () => void;
  hint: string;
}

const views: [ResultView, string][] = [
  ['table', 'Table'],
  ['chart', 'Chart'],
  ['json', 'JSON'],
  ['explain', 'Explain'],
];
const jsonLinesMax = 500;

export function Results({
  state,
  view,
  label,
  onDownload,
  onSaveShown,
  explain,
  classifying,
  saved,
  onFresh,
  rowsOf,
  onRunAgain,
  hint,
}: ResultsProps) {
  const shown = view.value;
  const [filter, setFilter] = useState('');
  const { store, rows, affected } = state;
  const hasRows = store !== undefined && rows > 0 && affected === undefined;
  const arranged = useArranged(store, { rows, filter, corrected: state.corrected });
  const { inSight } = arranged;
  const explained = shown === 'explain' && explain !== undefined;
  const hasShown = hasRows && !explained;
  const isTable = hasShown && shown === 'table';
  const isFiltered = filter.trim() !== '';
  const isEmpty = hasShown && isFiltered && inSight === 0;
  const filtered = { filter: filter.trim(), onClear: () => setFilter('') };
  return (
    <section class="results" aria-label="Result">
      <div class="result-bar">
        <Figures state={state} inSight={hasShown ? inSight : undefined} isFiltered={isFiltered} />
        {state.cachedAt !== undefined && onFresh !== undefined && <Fresh onFresh={onFresh} />}
        {(hasRows || explain !== undefined) && (
          <div class="result-tools">
            {hasShown && <Filter value={filter} onInput={setFilter} />}
            <Segments
              value={shown}
              views={views.filter(([name]) =>
                name === 'explain' ? explain !== undefined : hasRows || explained,
              )}
              onChange={(next) => {
                view.value = next;
              }}
            />
            {hasRows && <Downloads {...{ onDownload, onSaveShown }} isFiltered={hasShown && isFiltered} />}
          </div>
        )}
      </div>
      {explained ? explain?.() : <Outcome state={state} hint={hint} />}
      {!explained && <OtherRows state={state} rowsOf={rowsOf} onRunAgain={onRunAgain} />}
      {isTable && classifying?.note}
      {isEmpty && <NoMatch state={state} {...filtered} />}
      {isTable && (
        <GridView
          store={store}
          turn={arranged.turn}
          sort={arranged.sort}
          onSort={arranged.setSort}
          label={`Rows of ${label}`}
          columnItems={classifying?.columnItems}
          onLabel={classifying?.onLabel}
        />
      )}
      {classifying?.dialog}
      {hasShown && shown === 'chart' && !isEmpty && (
        <ResultChart state={state} store={store} saved={saved} arranged={arranged} {...filtered} />
      )}
      {hasShown && shown === 'json' && !isEmpty && <Json store={store} />}
    </section>
  );
}

const Fresh = ({ onFresh }: { onFresh(): void }) => (
  <button type="button" class="quiet" onClick={onFresh}>
    <Icon name="refresh" /> Run without the cache
  </button>
);

interface OtherRowsProps {
  state: RunState;
  /** Undefined if they belong to it. */
  rowsOf: string | undefined;
  onRunAgain: (() => void) | undefined;
}

/** Says that the rows belong to another text or to other values than those above. */
const OtherRows = ({ state: { status }, rowsOf, onRunAgain }: OtherRowsProps) =>
  rowsOf !== undefined && (
    <p class="banner other-rows" role="status">
      <Icon name="warn" />
      <span>These rows are of {rowsOf}, and not of what is above.</span>
      {status !== 'running' && onRunAgain !== undefined && (
        <button type="button" onClick={onRunAgain}>
          Refresh the rows
        </button>
      )}
    </p>
  );

interface ResultChartProps {
  state: RunState;
  store: RowStore;
  saved: Saved | undefined;
  arranged: Arranged;
  filter: string;
  onClear(): void;
}

const ResultChart = ({ state, arranged: { turn }, ...props }: ResultChartProps) => (
  <ChartView
    key={String(props.store.isTyped)}
    turn={turn}
    rows={state.rows}
    truncated={state.truncated === true || state.status === 'failed' || state.status === 'cancelled'}
    {...props}
  />
);

const Filter = ({ value, onInput }: { value: string; onInput(value: string): void }) => (
  <input
    class="filter"
    type="search"
    placeholder="Filter rows"
    aria-label="Filter rows"
    value={value}
    onInput={({ currentTarget }) => onInput(currentTarget.value)}
  />
);

function Json({ store }: { store: RowStore }) {
  const { lines, length } = store;
  const shown = Array.from({ length: Math.min(length, jsonLinesMax) }, (_, row) => lines[store.lineAt(row)]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard scrolls it.
    <pre class="json" tabIndex={0} role="region" aria-label="Rows as JSON">
      {shown.join('\n')}
      {length > jsonLinesMax && `\n… the first ${jsonLinesMax} of ${count(length)}`}
    </pre>
  );
}

/** Says what was searched, so that nobody takes a filter for an empty result. */
function NoMatch({ state, filter, onClear }: { state: RunState; filter: string; onClear(): void }) {
  const { rows, store, status, truncated } = state;
  return (
    <p class="empty" role="status">
      No row contains “{filter}” in one of its {counted(store?.columns.length ?? 0, 'column')}.{' '}
      {status === 'running'
        ? `${counted(rows, 'row')} arrived so far.`
        : truncated || status !== 'done'
          ? `The first ${counted(rows, 'row')} were searched; the query has more.`
          : `All ${counted(rows, 'row')} were searched.`}{' '}
      <button type="button" onClick={onClear}>
        Clear the filter
      </button>
    </p>
  );
}

interface DownloadsProps extends Pick<ResultsProps, 'onDownload' | 'onSaveShown'> {
  /** A file has all rows, also those that the filter hides. */
  isFiltered: boolean;
}

function Downloads({ onDownload, onSaveShown, isFiltered }: DownloadsProps) {
  const what = isFiltered ? 'Download all rows:' : 'Download';
  if (onDownload === undefined) {
    return (
      <button type="button" onClick={onSaveShown}>
        {isFiltered ? 'Download all rows' : 'Download rows'}
      </button>
    );
  }
  const items = downloads.map(({ format, name }) => ({
    label: `${what} ${name}`,
    run: () => onDownload(format),
  }));
  return (
    <span class="split">
      <button type="button" onClick={() => onDownload('csv')}>
        {what} CSV
      </button>
      <Menu label="Other formats" icon="down" items={items} />
    </span>
  );
}

/** The messages of a run besides its rows. */
function Outcome({ state, hint }: { state: RunState; hint: string }) {
  const { status, rows, affected } = state;
  return (
    <>
      {state.dryRun && status === 'done' && (
        <p class="banner">
          <strong>Dry run.</strong> The statement ran and was rolled back. Nothing was changed.
        </p>
      )}
      {state.isEarlier && (
        <p class="banner">
          <strong>This is the answer of an earlier run</strong>, which had got none here. Nothing was run
          again. To carry it out once more, run it again.
        </p>
      )}
      {state.problem !== undefined && <ProblemBox problem={state.problem} />}
      {status === 'idle' && <p class="empty">{hint}</p>}
      {status === 'done' && rows === 0 && <p class="empty">The query returned no rows.</p>}
      {affected !== undefined && (
        <p class="empty">
          <strong>{counted(Number(affected), 'row')}</strong>{' '}
          {state.dryRun ? 'would be affected.' : 'affected.'}
        </p>
      )}
    </>
  );
}

interface FiguresProps {
  state: RunState;
  inSight: InSight | undefined;
  isFiltered: boolean;
}

function Figures({ state, inSight, isFiltered }: FiguresProps) {
  const { status, rows, firstRowMs, totalMs, databaseMs, truncated, affected, cachedAt, isDraft } = state;
  const now = useClock(status === 'running');
  if (status === 'idle') return <span class="figures">Not run yet</span>;
  const times = [
    cachedAt === undefined ? undefined : `from the cache, as of ${exactMoment(cachedAt)}`,
    databaseMs === undefined ? undefined : `database ${duration(databaseMs)}`,
    firstRowMs === undefined || affected !== undefined ? undefined : `first row ${duration(firstRowMs)}`,
    totalMs === undefined ? undefined : `all ${duration(totalMs)}`,
  ].filter((time) => time !== undefined);
  const after = rows > 0 ? ` after ${counted(rows, 'row')}` : '';
  const elapsed = state.startedAt === undefined ? 0 : now - state.startedAt;
  return (
    <span class="figures" role="status" data-status={status}>
      {status === 'running' && <span class="busy" aria-hidden="true" />}
      {status === 'running' && (
        <b>{rows > 0 ? `${counted(rows, 'row')} so far` : `Running ${duration(Math.max(0, elapsed))}`}</b>
      )}
      {status === 'done' && affected === undefined && <b>{counted(rows, 'row')}</b>}
      {status === 'done' && affected !== undefined && <b>Done</b>}
      {status === 'failed' && (
        <b class="bad-text">{mayBeWritten(state) ? 'May have been carried out' : `Failed${after}`}</b>
      )}
      {status === 'cancelled' && (
        <b>
          Cancelled{after}.{' '}
          {mayBeWritten(state)
            ? 'If the statement had ended by then, it was carried out.'
            : 'The statement was stopped at the database.'}
        </b>
      )}
      {isDraft && <span class="of-draft">of the draft</span>}
      {inSight === 'filter' && <span>Filtering …</span>}
      {inSight === 'sort' && <span>Sorting …</span>}
      {typeof inSight === 'number' && isFiltered && <span>{counted(inSight, 'match', 'matches')}</span>}
      {status !== 'running' && <span class="times">{times.join(' · ')}</span>}
      {truncated && state.moreResults && (
        <span
          class="cut"
          title="The procedure returned further results. The option results: &quot;all&quot; has them."
        >
          <Icon name="warn" /> the first result of several
        </span>
      )}
      {truncated && !state.moreResults && (
        <span class="cut" title="The query has more rows.">
          <Icon name="warn" /> cut: {state.cutBy ?? 'a limit of the hub'}
          {rows >= shownRowsMax ? ', a download has more' : ''}
        </span>
      )}
    </span>
  );
}

function useClock(runs: boolean): number {
  const [now, setNow] = useState(performance.now());
  useEffect(() => {
    if (!runs) return;
    const timer = setInterval(() => setNow(performance.now()), 200);
    return () => clearInterval(timer);
  }, [runs]);
  return now;
}

interface SegmentsProps {
  value: ResultView;
  views: [ResultView, string][];
  onChange(value: ResultView): void;
}

function Segments({ value, views, onChange }: SegmentsProps) {
  return (
    <div class="segments" role="group" aria-label="Show rows as">
      {views.map(([name, text]) => (
        <button key={name} type="button" aria-pressed={value === name} onClick={() => onChange(name)}>
          {text}
        </button>
      ))}
    </div>
  );
}
