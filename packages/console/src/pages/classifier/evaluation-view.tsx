/** How good a classifier is: in total, of late, by class, and what it takes for what. */

import { useEffect, useMemo, useRef } from 'preact/hooks';
import { callJson, part } from '../../api/client.ts';
import type { Answer } from '../../api/types.ts';
import { Chart } from '../../ui/chart/chart-host.tsx';
import type { ChartData } from '../../ui/chart/protocol.ts';
import { confidenceText, count, percent, shareOf } from '../../ui/format.ts';
import { useLoad } from '../../ui/load.tsx';
import { Loading } from '../../ui/page.tsx';
import { ProblemBox } from '../../ui/problem.tsx';
import { Scrolling, TableHead } from '../../ui/table.tsx';

type Evaluation = Answer<'GET /v1/classifiers/{classifierId}/evaluation'>;
type Figures = Evaluation['recent'];
/** The figures of the examples since the point before. */
type CurvePoint = Evaluation['curve'][number];

const classesShownMax = 200;
const mistakesShownMax = 5;
/** `value` of `cases` examples or predictions. */
const share = (value: number | null | undefined, cases: number) =>
  value == null || cases === 0 ? '–' : shareOf(value, cases);
/** Of fewer examples, chance alone makes an error of several points. */
const calibrationFrom = 100;
const calibration = ({ calibrationError, examples }: Figures) =>
  calibrationError === null || examples < calibrationFrom ? '–' : percent(calibrationError);

/** The number of predictions of a class follows from its figures, unless none was right. */
const predictionsOf = ({ support, recall, precision }: Figures['classes'][number]) =>
  precision === null || recall === null || precision === 0 ? 0 : Math.round((recall * support) / precision);

export function EvaluationView({ classifierId }: { classifierId: string }) {
  const path = `v1/classifiers/${part(classifierId)}/evaluation`;
  const loaded = useLoad((signal) => callJson<Evaluation>(path, { signal }), [classifierId]);
  if (loaded.problem !== undefined) return <ProblemBox problem={loaded.problem} />;
  if (loaded.value === undefined) return <Loading what="the evaluation" />;
  const { recent: latest, curve, ...all } = loaded.value;
  // Until there are more, the last 1,000 are all.
  const recent = latest.examples < all.examples ? latest : undefined;
  if (all.examples === 0)
    return (
      <p class="empty">
        No figures yet. Each example after the first is predicted before it is learned: train two or more.
      </p>
    );
  return (
    <>
      <dl class="figures-list">
        <Figure
          name="Accuracy"
          value={share(all.accuracy, all.examples)}
          recent={recent && share(recent.accuracy, recent.examples)}
        />
        <Figure
          name="Calibration error"
          value={calibration(loaded.value)}
          recent={recent && calibration(recent)}
        />
        <Figure name="Examples judged" value={count(all.examples)} recent={undefined} />
      </dl>
      <p class="hint">
        Each example after the first is predicted before it is learned, so these figures are of texts that the
        classifier had not seen. The calibration error says how far its confidence is from how often it is
        right.
      </p>
      <LearningCurve points={curve} />
      <ClassTable all={all} recent={recent} />
      <Confusion figures={all} />
    </>
  );
}

function Figure({ name, value, recent }: { name: string; value: string; recent: string | undefined }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {value} {recent !== undefined && <span class="note">last 1,000: {recent}</span>}
      </dd>
    </div>
  );
}

function ClassTable({ all, recent }: { all: Figures; recent: Figures | undefined }) {
  const lately = new Map(recent?.classes.map((one) => [one.classId, one]));
  const heads = ['Class', 'Examples', 'Recall', 'Precision', ...(recent ? ['Recall, last 1,000'] : [])];
  return (
    <>
      <h2>By class</h2>
      <Scrolling label="Figures by class">
        <table class="facts numbers folded class-figures">
          <TableHead names={heads} />
          <tbody>
            {all.classes.slice(0, classesShownMax).map((one) => (
              <tr key={one.classId}>
                <th scope="row" title={one.label}>
                  {one.label}
                </th>
                <td>{count(one.support)}</td>
                <td>{share(one.recall, one.support)}</td>
                <td>
                  {one.precision === 0
                    ? isPredicted(one.classId, all.confusion)
                      ? percent(0)
                      : 'never predicted'
                    : share(one.precision, predictionsOf(one))}
                </td>
                {recent && (
                  <td>{share(lately.get(one.classId)?.recall, lately.get(one.classId)?.support ?? 0)}</td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolling>
      <p class="hint">
        Recall: the share of the examples of a class that were predicted correctly. Precision: the share of
        the predictions of a class that were correct.
        {all.classes.length > classesShownMax && ` The ${classesShownMax} largest classes are shown.`}
      </p>
    </>
  );
}

/** True also for a class of which the matrix does not know it. */
function isPredicted(classId: string, { classes, counts }: Figures['confusion']): boolean {
  const at = classes.findIndex((one) => one.classId === classId);
  return at < 0 || counts.some((row) => (row[at] ?? 0) > 0);
}

function Confusion({ figures: { confusion } }: { figures: Figures }) {
  const { classes, counts } = confusion;
  if (classes.length < 2) return null;
  const mistakes = counts
    .flatMap((row, of) => row.map((times, as) => ({ of, as, times })))
    .filter(({ of, as, times }) => of !== as && times > 0)
    .sort((a, b) => b.times - a.times)
    .slice(0, mistakesShownMax);
  const label = (at: number) => classes[at]?.label ?? '';
  return (
    <>
      <h2>What it confuses</h2>
      {mistakes.length === 0 && <p class="hint">Nothing yet among the largest classes.</p>}
      <ul class="items">
        {mistakes.map(({ of, as, times }) => (
          <li key={`${of} ${as}`} class="item">
            <span>
              <strong>{label(of)}</strong> taken for <strong>{label(as)}</strong>
            </span>
            <span class="spring" />
            <span class="note right">{count(times)}</span>
          </li>
        ))}
      </ul>
      <Scrolling label="Confusion matrix">
        <table class="facts numbers matrix">
          <caption>Rows: the class of the examples. Columns: the class that was predicted.</caption>
          <thead>
            <tr>
              <td />
              {classes.map(({ classId, label: name }, i) => (
                <th key={classId} scope="col" title={name}>
                  {i + 1}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {counts.map((row, of) => (
              <tr key={classes[of]?.classId}>
                <th scope="row" title={label(of)}>
                  {of + 1} {label(of)}
                </th>
                {row.map((times, as) => (
                  <Times key={classes[as]?.classId} times={times} total={sum(row)} right={of === as} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolling>
    </>
  );
}

const sum = (row: number[]) => row.reduce((all, one) => all + one, 0);

/** The darker, the larger the share of the row. */
function Times({ times, total, right }: { times: number; total: number; right: boolean }) {
  const cell = useRef<HTMLTableCellElement>(null);
  useEffect(() => {
    cell.current?.style.setProperty('--share', `${total === 0 ? 0 : Math.round((60 * times) / total)}%`);
  }, [times, total]);
  return (
    <td ref={cell} class={right ? 'right-guess' : 'wrong-guess'}>
      {times === 0 ? '' : count(times)}
    </td>
  );
}

function LearningCurve({ points }: { points: CurvePoint[] }) {
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
            From left to right the classifier learns more examples. Each point counts those since the point
            before. If the mean confidence is above the accuracy, the classifier was too sure.
          </p>
          <CurveTable points={points} />
        </>
      )}
    </>
  );
}

const summaryOf = (first: CurvePoint, last: CurvePoint) =>
  `Learning curve: the accuracy was ${shareOf(first.accuracy, first.window)} over the first ${count(first.window)} examples, and is ${shareOf(last.accuracy, last.window)} over the last ${count(last.window)} of ${count(last.examples)}. The table below has all points.`;

/** The points are evenly spaced, because the windows grow: the axis is nearly logarithmic. */
function chartOf(points: CurvePoint[]): ChartData {
  const inPercent = (share: number) => Math.round(share * 1_000) / 10;
  const series = [
    {
      name: 'Accuracy',
      values: points.map(({ accuracy }) => inPercent(accuracy)),
      texts: points.map(({ accuracy, window }) => shareOf(accuracy, window)),
    },
    {
      name: 'Mean confidence',
      values: points.map(({ meanConfidence }) => inPercent(meanConfidence)),
      texts: points.map(({ meanConfidence }) => confidenceText(meanConfidence)),
    },
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
        <table class="facts numbers folded class-figures">
          <TableHead names={['Examples', 'Accuracy', 'Mean confidence']} />
          <tbody>
            {points.map(({ examples, window, accuracy, meanConfidence }) => (
              <tr key={examples}>
                <th scope="row">
                  {count(examples - window + 1)} to {count(examples)}
                </th>
                <td>{shareOf(accuracy, window)}</td>
                <td>{confidenceText(meanConfidence)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolling>
    </details>
  );
}
