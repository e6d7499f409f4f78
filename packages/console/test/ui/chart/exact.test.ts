/** Each number that a chart writes is a value of a row, or the named aggregate of rows, with all its digits. */

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { scaled } from '../../../../../tests/support/scale.ts';
import { type Aggregate, aggregates } from '../../../src/state/rows/decimals.ts';
import { RowStore } from '../../../src/state/rows/row-store.ts';
import { defaultChart } from '../../../src/ui/chart/defaults.ts';
import { stackOf, valueText } from '../../../src/ui/chart/legend.ts';
import { type ChartKind, chartKinds } from '../../../src/ui/chart/protocol.ts';
import { type ChartSettings, shape } from '../../../src/ui/chart/shape.ts';

const shift = 60;
/** The value × 10^60, read digit by digit. */
function unitsOf(text: string): bigint {
  const [number = '', power = '0'] = text.toLowerCase().split('e');
  const sign = number.startsWith('-') ? -1n : 1n;
  const [whole = '', part = ''] = number.replace('-', '').split('.');
  return (
    sign *
    BigInt((whole + part).padEnd(whole.length + part.length + shift + Number(power) - part.length, '0'))
  );
}

const digits = fc.stringMatching(/^[1-9]\d{0,24}$/);
const numberText = fc.oneof(
  fc.integer({ min: -5, max: 5 }).map(String),
  fc.tuple(fc.constantFrom('', '-'), digits).map(([sign, text]) => sign + text),
  fc.tuple(digits, fc.stringMatching(/^\d{1,18}$/)).map(([whole, part]) => `${whole}.${part}`),
  fc
    .double({ noNaN: true, noDefaultInfinity: true, min: -1e25, max: 1e25 })
    .filter((one) => Math.abs(one) > 1e-20 || one === 0)
    .map((one) => String(one === 0 ? 0 : one)),
);
const cell = fc.oneof({ weight: 9, arbitrary: numberText }, { weight: 1, arbitrary: fc.constant(null) });
const row = fc.record({
  at: fc.oneof(fc.constantFrom('2026-01', '2026-02', '2025-12'), fc.constantFrom('a', 'b', '')),
  part: fc.constantFrom('east', 'west', 'north'),
  n: cell,
  m: cell,
});
const chart = fc.record({
  rows: fc.array(row, { minLength: 1, maxLength: 14 }),
  isQuoted: fc.boolean(),
  kind: fc.constantFrom<ChartKind | 'number' | 'usual'>(
    'number',
    'usual',
    ...chartKinds.map(([name]) => name),
  ),
  y: fc.constantFrom<string[][]>(['n'], ['n', 'm']),
  split: fc.constantFrom('part', undefined),
  aggregate: fc.constantFrom<Aggregate>(...aggregates.map(([name]) => name)),
  text: fc.constantFrom('SELECT sum(a) AS n, count(*) AS m FROM t', 'SELECT avg(a) AS n, m FROM t', ''),
});

/** The text is the aggregate of the values. */
function expectAggregate(text: string, aggregate: Aggregate, given: string[]): void {
  const units = given.map(unitsOf);
  const sum = units.reduce((all, one) => all + one, 0n);
  if (aggregate === 'count') expect(text).toBe(String(given.length));
  else if (aggregate === 'sum') expect(unitsOf(text)).toBe(sum);
  else if (aggregate === 'mean') {
    const exact = unitsOf(text.replace('≈ ', '')) * BigInt(given.length);
    const difference = exact > sum ? exact - sum : sum - exact;
    if (!text.startsWith('≈')) expect(difference).toBe(0n);
    // Half of the last digit that is written.
    else
      expect(2n * difference <= BigInt(given.length) * unitsOf(`1e-${text.split('.')[1]?.length}`)).toBe(
        true,
      );
  } else {
    expect(given).toContain(text);
    const most = units.reduce((a, b) => ((aggregate === 'max') === a > b ? a : b));
    if (aggregate !== 'last') expect(unitsOf(text)).toBe(most);
  }
}

it('writes no digits that the rows do not have', async () => {
  const property = fc.asyncProperty(chart, async ({ rows, isQuoted, kind, text, ...rest }) => {
    const store = new RowStore([
      { name: 'at', type: 'text' },
      { name: 'part', type: 'text' },
      { name: 'n', type: 'numeric' },
      { name: 'm', type: 'numeric' },
    ]);
    store.statement = { text, engine: 'postgres' };
    const json = (text: string | null) => (text !== null && isQuoted ? JSON.stringify(text) : String(text));
    store.add(
      rows.map(({ at, part, n, m }) => `{"at":"${at}","part":"${part}","n":${json(n)},"m":${json(m)}}`),
    );
    const settings: ChartSettings | undefined =
      kind === 'usual' ? defaultChart(store) : { kind, x: 'at', ...rest };
    if (settings === undefined) throw new Error('no chart');
    if (kind === 'usual' && !text.includes('sum(')) expect(settings.aggregate).not.toBe('sum');
    const shaped = await shape(store, settings);
    if (shaped === undefined) throw new Error('no chart');
    const { aggregate } = settings;
    const isPoints = settings.kind === 'points';
    const drawn: string[] = [];
    for (const series of shaped.series) {
      for (const [place, text] of (series.texts ?? []).entries()) {
        if (text === null) continue;
        drawn.push(text);
        // With separators between thousands, which are only drawn.
        expect(valueText(series, place)?.replaceAll(',', '')).toBe(text);
        const at =
          settings.kind === 'number'
            ? undefined
            : (shaped.x.texts ?? (shaped.x.kind === 'label' ? shaped.x.labels : []))[place];
        const column = series.name.endsWith('m') || settings.y[0] === 'm' ? 'm' : 'n';
        const split =
          settings.split === undefined || settings.kind === 'number' ? undefined : series.name.split(',')[0];
        const given = rows
          .filter((one) => (at === undefined || one.at === at) && (split === undefined || one.part === split))
          .flatMap((one) => one[column] ?? []);
        if (aggregate === 'none' || (isPoints && aggregate !== 'count')) expect(given).toContain(text);
        else if (!isPoints) expectAggregate(text, aggregate, given);
      }
    }
    const isTime = shaped.x.kind === 'time';
    const values = rows.flatMap(({ n, m }) =>
      settings.y.length === 2 ? [n, m] : [settings.y[0] === 'm' ? m : n],
    );
    if (aggregate === 'none' && !isTime && shaped.labelsLeft === 0)
      expect([...drawn].sort()).toEqual(values.filter((one) => one !== null).sort());
    const stack = stackOf(shaped, 0);
    const parts = shaped.series.flatMap(({ texts }) => texts?.[0] ?? []);
    if (stack !== undefined)
      expect(unitsOf(stack.sum)).toBe(parts.map(unitsOf).reduce((all, one) => all + one, 0n));
  });
  await fc.assert(property, { numRuns: scaled(1_000, 10_000) });
});
