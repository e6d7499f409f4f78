/** Saves a chart with its query, and puts it on the home of the hub. */

import { useState } from 'preact/hooks';
import { problemOf } from '../../api/client.ts';
import type { Presentation } from '../../api/types.ts';
import { may } from '../../state/permissions.ts';
import type { ChartSettings } from '../../ui/chart/shape.ts';
import { Icon } from '../../ui/icons.tsx';
import { notify } from '../../ui/notice.tsx';
import type { Saved } from './presentation.ts';

interface SaveChartProps {
  saved: Saved;
  settings: ChartSettings;
  isChanged: boolean;
}

export function SaveChart({ saved: { presentation, save }, settings, isChanged }: SaveChartProps) {
  const [busy, setBusy] = useState(false);
  if (!may('queries:write')) return null;
  const store = async (change: Partial<Presentation>, done: string) => {
    setBusy(true);
    await save(change).then(
      () => notify(done),
      (err) => notify(problemOf(err).detail ?? 'The chart could not be saved.'),
    );
    setBusy(false);
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
