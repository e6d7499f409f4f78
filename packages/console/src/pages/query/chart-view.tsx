/** A chart of the rows, and what it is made of. */

import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { Presentation } from '../../api/types.ts';
import { may } from '../../state/permissions.ts';
import { type Aggregate, aggregates } from '../../state/rows/decimals.ts';
import type { RowStore } from '../../state/rows/row-store.ts';
import { useAction } from '../../ui/action.ts';
import { Chart } from '../../ui/chart/chart-host.tsx';
import { defaultChart, missingText, storedChart, unitMax, usualAggregate } from '../../ui/chart/defaults.ts';
import { chartKinds } from '../../ui/chart/protocol.ts';
import type { ChartSettings } from '../../ui/chart/shape.ts';
import { useShaped } from '../../ui/chart/use-shaped.ts';
import { drawnName, notesOf } from '../../ui/chart/words.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Choice, Field, Tick } from '../../ui/field.tsx';
import { count, counted } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { notify } from '../../ui/notice.tsx';
import { BigNumber } from './big-number.tsx';
import type { Saved } from './presentation.ts';

interface ChartViewProps {
  store: RowStore;
  /** All rows that arrived. */
  rows: number;
  /** Changes with the rows that are shown. */
  turn: number;
  /** True if the rows are not all rows of the query. */
  truncated: boolean;
  /** The chart that is saved with the query. */
  saved: Saved | undefined;
  /** What the shown rows contain; empty for all rows. */
  filter: string;
  onClear(): void;
}

export function ChartView(props: ChartViewProps) {
  const { store, rows, turn, saved, filter } = props;
  const [chosen, setChosen] = useState<ChartSettings>();
  const stored = useMemo(
    () => storedChart(saved?.presentation.chart, store),
    [store, rows > 0, saved?.presentation.chart],
  );
  const usual = useMemo(() => defaultChart(store), [store, rows > 0]);
  const settings = chosen ?? (stored !== undefined && 'settings' in stored ? stored.settings : usual);
  if (settings === undefined) return <p class="empty chart-view">A chart needs a column of numbers.</p>;
  const change = (to: Partial<ChartSettings>) => setChosen({ ...settings, ...to });
  return (
    <div class="chart-view">
      <Controls store={store} settings={settings} onChange={change}>
        {saved !== undefined && (
          <SaveChart {...props} saved={saved} settings={settings} isChanged={chosen !== undefined} />
        )}
      </Controls>
      {chosen === undefined && stored !== undefined && 'missing' in stored && (
        <p class="banner">{missingText(stored.missing)}</p>
      )}
      {filter !== '' && <Filtered {...props} />}
      {settings.kind === 'number' ? (
        <BigNumber store={store} turn={turn} settings={settings} />
      ) : (
        <Drawn {...props} settings={settings} />
      )}
    </div>
  );
}

const Filtered = ({ store, rows, filter, onClear }: ChartViewProps) => (
  <p class="banner chart-filter" role="status">
    Of {count(store.length)} of {counted(rows, 'row')} (filter “{filter}”).{' '}
    <button type="button" class="quiet" onClick={onClear}>
      Clear the filter
    </button>
  </p>
);

interface ControlsProps {
  store: RowStore;
  settings: ChartSettings;
  onChange(change: Partial<ChartSettings>): void;
  children: ComponentChildren;
}

function Controls({ store, settings, onChange, children }: ControlsProps) {
  const { x, y, split, kind, aggregate, unit } = settings;
  const names = store.columns.map(({ name }) => [name, name] as const);
  const numeric = store.columns.filter(({ numeric }) => numeric);
  const toggle = (name: string) => {
    const next = y.includes(name) ? y.filter((one) => one !== name) : [...y, name];
    // What may not be added is not added because the column beside it may.
    const isUsual = aggregate === usualAggregate(y, store);
    if (next.length > 0)
      onChange({ y: next, ...(isUsual ? { aggregate: usualAggregate(next, store) } : {}) });
  };
  const setX = (next: string) => onChange({ x: next, split: split === next ? undefined : split });
  const setKind = (next: ChartSettings['kind']) => {
    const turns = (next === 'number') !== (kind === 'number');
    onChange({
      kind: next,
      ...(turns ? { aggregate: next === 'number' ? 'last' : usualAggregate(y, store) } : {}),
    });
  };
  return (
    <div class="chart-controls">
      <Choice
        label="As"
        value={kind}
        options={[...chartKinds, ['number', 'Big number']]}
        onChange={(value) => setKind(value as ChartSettings['kind'])}
      />
      {kind !== 'number' && <Choice label="Across" value={x} options={names} onChange={setX} />}
      <fieldset class="ticks">
        <legend>Up</legend>
        {numeric.map(({ name }) => (
          <Tick key={name} label={name} checked={y.includes(name)} onChange={() => toggle(name)} />
        ))}
      </fieldset>
      {kind !== 'number' && (
        <Choice
          label="Split by"
          value={split ?? ''}
          options={[['', 'nothing'], ...names.filter(([name]) => name !== x)]}
          onChange={(value) => onChange({ split: value === '' ? undefined : value })}
        />
      )}
      {kind !== 'points' && (
        <Choice
          label="Combine"
          value={aggregate}
          options={kind === 'number' ? aggregates.filter(([name]) => name !== 'none') : aggregates}
          onChange={(value) => onChange({ aggregate: value as Aggregate })}
        />
      )}
      <div class="unit">
        <Field
          label="Unit"
          value={unit ?? ''}
          placeholder="none"
          onInput={(value) => onChange({ unit: value.trim() === '' ? undefined : value.slice(0, unitMax) })}
        />
      </div>
      <span class="spring" />
      {children}
    </div>
  );
}

interface DrawnProps extends ChartViewProps {
  settings: ChartSettings;
}

function Drawn({ store, turn, settings, truncated, filter }: DrawnProps) {
  const shaped = useShaped(store, turn, settings);
  const { x, split } = settings;
  const name = drawnName(settings, shaped?.repeats === true);
  const places = ` by ${x}${split === undefined ? '' : `, split by ${split}`}`;
  return (
    <>
      <p class="chart-title">
        {name} <span class="note">{places}</span>
      </p>
      <Chart label={`Chart of ${name}${places}`} data={shaped} legend="beside" across={x} />
      {shaped !== undefined && (
        <p class="hint chart-note">{notesOf(shaped, { settings, truncated, filter }).join(' ')}</p>
      )}
    </>
  );
}

type ShownRows = Pick<ChartViewProps, 'store' | 'rows' | 'filter' | 'onClear'>;

interface SaveChartProps extends ShownRows {
  saved: Saved;
  settings: ChartSettings;
  isChanged: boolean;
}

function SaveChart({ saved, settings, isChanged, ...shownRows }: SaveChartProps) {
  const { presentation, save, refusal } = saved;
  const { busy, run } = useAction();
  const [asked, setAsked] = useState<{ go(): void }>();
  if (!may('queries:write')) return null;
  const store = async (change: Partial<Presentation>, done: string) => {
    const failed = await run(() => save(change));
    notify(failed === undefined ? done : (failed.detail ?? 'The chart could not be saved.'));
  };
  const askFirst = (go: () => void) => (shownRows.filter === '' ? go() : setAsked({ go }));
  const isSame = presentation.chart !== undefined && same(presentation.chart, settings);
  const pinned = presentation.pinned === true;
  if (refusal !== undefined) return <span class="hint">{refusal}</span>;
  return (
    <div class="chart-actions">
      {isSame ? (
        <span class="hint">
          <Icon name="check" /> Saved with the query
        </span>
      ) : (
        <button
          type="button"
          disabled={busy || (!isChanged && presentation.chart !== undefined)}
          onClick={() =>
            askFirst(() => void store({ chart: { ...settings } }, 'Saved the chart with the query.'))
          }
        >
          Save chart
        </button>
      )}
      <button
        type="button"
        aria-pressed={pinned}
        disabled={busy}
        onClick={() =>
          pinned
            ? void store({ pinned: false }, 'It is no longer on the home of the hub.')
            : askFirst(
                () => void store({ pinned: true, chart: { ...settings } }, 'It is on the home of the hub.'),
              )
        }
      >
        <Icon name="pin" /> {pinned ? 'Unpin' : 'Pin to home'}
      </button>
      {asked !== undefined && (
        <FilterDialog {...shownRows} onSave={asked.go} onClose={() => setAsked(undefined)} />
      )}
    </div>
  );
}

interface FilterDialogProps extends ShownRows {
  onSave(): void;
  onClose(): void;
}

/** Asks before a chart is saved that a filter makes another one than the saved one will be. */
function FilterDialog({ store, rows, filter, onClear, onSave, onClose }: FilterDialogProps) {
  const then = (act: () => void) => () => {
    onClose();
    act();
  };
  return (
    <Dialog title="The filter is not saved" onClose={onClose}>
      <p>
        You see {count(store.length)} of {counted(rows, 'row')}, because of the filter “{filter}”. The saved
        chart draws all rows of the query.
      </p>
      <div class="actions">
        <button type="button" onClick={then(onClear)}>
          Clear the filter
        </button>
        <button type="button" class="primary" onClick={then(onSave)}>
          Save without the filter
        </button>
      </div>
    </Dialog>
  );
}

const same = (stored: object, settings: ChartSettings): boolean => {
  const parts = ({ kind, x, y, split, aggregate, unit }: ChartSettings) =>
    JSON.stringify([kind, x, y, split, aggregate, unit]);
  return parts(stored as ChartSettings) === parts(settings);
};
