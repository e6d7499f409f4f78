/** How good the predictions were while the classifier learned: a chart, and the same as a table. */

import { useMemo } from 'preact/hooks';
import { Chart } from '../../ui/chart/chart-host.tsx';
import type { ChartData } from '../../ui/chart/protocol.ts';
import { count, percent } from '../../ui/format.ts';
import { Scrolling, TableHead } from '../../ui/page.tsx';

/** The figures of the examples since the point before. */
export interface CurvePoint {
  examples: number;
  window: number;
  accuracy: number;
  meanConfidence: number;
}

export function LearningCurve({ points }: { points: CurvePoint[] }) {
  const [first, last] = [points[0], points.at(-1)];
  const data = useMemo(() => chartOf(points), [points]);
  return (
    <>
      <h2>Learning curve</h2>
      {first === undefined || last === undefined ? (
        <p class="hint">
          It is computed again, because a class was deleted or the hub was updated. Reload the page in a
          while.
        </p>
      ) : first === last ? (
        <p class="hint">It needs a few more examples.</p>
      ) : (
        <>
          <div class="curve">
            <Chart label={summaryOf(first, last)} data={data} />
          </div>
          <p class="hint">
            Each point counts the examples since the point before. If the mean confidence is above the
            accuracy, the classifier was too sure.
          </p>
          <CurveTable points={points} />
        </>
      )}
    </>
  );
}

const summaryOf = (first: CurvePoint, last: CurvePoint) =>
  `Learning curve: the accuracy was ${percent(first.accuracy)} over the first ${count(first.window)} examples, and is ${percent(last.accuracy)} over the last ${count(last.window)} of ${count(last.examples)}. The table below has all points.`;

/** The points are evenly spaced, because the windows grow: the axis is nearly logarithmic. */
function chartOf(points: CurvePoint[]): ChartData {
  const inPercent = (share: number) => Math.round(share * 1_000) / 10;
  const series = [
    { name: 'Accuracy', values: points.map(({ accuracy }) => inPercent(accuracy)) },
    { name: 'Mean confidence', values: points.map(({ meanConfidence }) => inPercent(meanConfidence)) },
  ];
  const values = series.flatMap((one) => one.values);
  const labels = points.map(({ examples }) => count(examples));
  return {
    kind: 'lines',
    x: { kind: 'label', labels },
    series,
    // A shorter scale would make much of the noise in the first windows.
    y: { from: Math.min(...values) < 50 ? 0 : 50, to: 100, unit: ' %' },
  };
}

function CurveTable({ points }: { points: CurvePoint[] }) {
  return (
    <details class="more">
      <summary>Learning curve as a table</summary>
      <Scrolling label="Learning curve">
        <table class="facts numbers">
          <TableHead names={['Examples', 'Accuracy', 'Mean confidence']} />
          <tbody>
            {points.map(({ examples, window, accuracy, meanConfidence }) => (
              <tr key={examples}>
                <th scope="row">
                  {count(examples - window + 1)} to {count(examples)}
                </th>
                <td>{percent(accuracy)}</td>
                <td>{percent(meanConfidence)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolling>
    </details>
  );
}
