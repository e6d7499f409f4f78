/** A chart of the rows, and what it is made of. */

import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Presentation } from '../../api/types.ts';
import { may } from '../../state/permissions.ts';
import type { RowStore } from '../../state/rows/row-store.ts';
import { useAction } from '../../ui/action.ts';
import { Chart } from '../../ui/chart/chart-host.tsx';
import { defaultChart, storedChart } from '../../ui/chart/defaults.ts';
import { chartKinds } from '../../ui/chart/protocol.ts';
import { type ChartSettings, type Shaped, shape } from '../../ui/chart/shape.ts';
import { Choice, Tick } from '../../ui/field.tsx';
import { count, counted } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { notify } from '../../ui/notice.tsx';
import { BigNumber } from './big-number.tsx';
import type { Saved } from './presentation.ts';

interface ChartViewProps {
  store: RowStore;
  rows: number;
  /** True if the rows are not all rows of the query. */
  truncated: boolean;
  /** The chart that is saved with the query. */
  saved: Saved | undefined;
}

export function ChartView({ store, rows, truncated, saved }: ChartViewProps) {
  const [chosen, setChosen] = useState<ChartSettings>();
  const usual = useMemo(
    () => storedChart(saved?.presentation.chart, store) ?? defaultChart(store),
    [store, rows > 0, saved?.presentation.chart],
  );
  const settings = chosen ?? usual;
  if (settings === undefined) return <p class="empty chart-view">A chart needs a column of numbers.</p>;
  return (
    <div class="chart-view">
      <Controls
        store={store}
        settings={settings}
        onChange={(change) => setChosen({ ...settings, ...change })}
      >
        {saved !== undefined && (
          <SaveChart saved={saved} settings={settings} isChanged={chosen !== undefined} />
        )}
      </Controls>
      {settings.kind === 'number' ? (
        <BigNumber store={store} settings={settings} />
      ) : (
        <Drawn store={store} rows={rows} settings={settings} truncated={truncated} />
      )}
    </div>
  );
}

interface ControlsProps {
  store: RowStore;
  settings: ChartSettings;
  onChange(change: Partial<ChartSettings>): void;
  children: ComponentChildren;
}

function Controls({ store, settings, onChange, children }: ControlsProps) {
  const { x, y, split, kind } = settings;
  const names = store.columns.map(({ name }) => [name, name] as const);
  const numeric = store.columns.filter(({ numeric }) => numeric);
  const toggle = (name: string) => {
    const next = y.includes(name) ? y.filter((one) => one !== name) : [...y, name];
    if (next.length > 0) onChange({ y: next });
  };
  return (
    <div class="chart-controls">
      <Choice
        label="As"
        value={kind}
        options={[...chartKinds, ['number', 'Big number']]}
        onChange={(value) => onChange({ kind: value as ChartSettings['kind'] })}
      />
      {kind !== 'number' && (
        <Choice label="Across" value={x} options={names} onChange={(value) => onChange({ x: value })} />
      )}
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
      <span class="spring" />
      {children}
    </div>
  );
}

interface DrawnProps {
  store: RowStore;
  rows: number;
  settings: ChartSettings;
  truncated: boolean;
}

function Drawn({ store, rows, settings, truncated }: DrawnProps) {
  const [shaped, setShaped] = useState<Shaped>();
  useEffect(() => {
    let current = true;
    void shape(store, settings, () => current).then(
      (made) => current && made !== undefined && setShaped(made),
    );
    return () => {
      current = false;
    };
  }, [store, rows, settings]);
  const { x, y, split } = settings;
  const label = `Chart of ${y.join(', ')} by ${x}${split === undefined ? '' : `, split by ${split}`}`;
  return (
    <>
      <p class="chart-title">{y.join(', ')}</p>
      <Chart label={label} data={shaped} legend="beside" across={x} />
      {shaped !== undefined && <p class="hint chart-note">{noteOf(shaped, { settings, truncated })}</p>}
    </>
  );
}

/** Says which rows are drawn, and how. */
function noteOf(
  shaped: Shaped,
  { settings, truncated }: { settings: ChartSettings; truncated: boolean },
): string {
  const { rows, isSum, merged, labelsLeft } = shaped;
  const { x, split } = settings;
  const labels = shaped.x.kind === 'label' ? shaped.x.labels.length : 0;
  return [
    truncated
      ? `The first ${count(rows)} rows are drawn; the query has more.`
      : labelsLeft > 0
        ? `The first ${count(labels)} values of ${x} are drawn; ${count(labelsLeft)} more have no room.`
        : `All ${counted(rows, 'row')} are drawn.`,
    isSum ? `Rows with the same ${x} are added.` : '',
    merged > 0 ? `The ${count(merged)} smallest of ${split ?? 'the series'} are drawn as one.` : '',
  ]
    .filter((text) => text !== '')
    .join(' ');
}

interface SaveChartProps {
  saved: Saved;
  settings: ChartSettings;
  isChanged: boolean;
}

function SaveChart({ saved: { presentation, save }, settings, isChanged }: SaveChartProps) {
  const { busy, run } = useAction();
  if (!may('queries:write')) return null;
  const store = async (change: Partial<Presentation>, done: string) => {
    const failed = await run(() => save(change));
    notify(failed === undefined ? done : (failed.detail ?? 'The chart could not be saved.'));
  };
  const isSame = presentation.chart !== undefined && same(presentation.chart, settings);
  const pinned = presentation.pinned === true;
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
          onClick={() => void store({ chart: { ...settings } }, 'Saved the chart with the query.')}
        >
          Save chart
        </button>
      )}
      <button
        type="button"
        aria-pressed={pinned}
        disabled={busy}
        onClick={() =>
          void (pinned
            ? store({ pinned: false }, 'It is no longer on the home of the hub.')
            : store({ pinned: true, chart: { ...settings } }, 'It is on the home of the hub.'))
        }
      >
        <Icon name="pin" /> {pinned ? 'Unpin' : 'Pin to home'}
      </button>
    </div>
  );
}

const same = (stored: object, settings: ChartSettings): boolean => {
  const { kind, x, y, split } = stored as ChartSettings;
  return (
    JSON.stringify([kind, x, y, split]) ===
    JSON.stringify([settings.kind, settings.x, settings.y, settings.split])
  );
};
