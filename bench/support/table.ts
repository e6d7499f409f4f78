/**
 * The output of every bench: the hub's figure, the baseline of the same run, the ratio of each pair, and its spread.
 */

export interface Pair {
  ours: number;
  baseline: number;
}

export interface Row {
  name: string;
  unit: string;
  pairs: Pair[];
  /** Whether higher or lower figures are better. The ratio is ours / baseline in both cases. */
  better: 'higher' | 'lower';
  goal: number;
}

/** The quantile `q`; 0 if there are no values. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0;
}

export const median = (values: readonly number[]) => quantile(values, 0.5);

export function printRow({ name, unit, pairs, better, goal }: Row): void {
  const ratios = pairs.map(({ ours, baseline }) => ours / baseline);
  const ratio = median(ratios);
  const met = better === 'lower' ? ratio <= goal : ratio >= goal;
  const spread = `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`;
  const number = (values: number[]) => median(values).toFixed(1).padStart(10);
  process.stdout.write(
    `${name.padEnd(44)}${number(pairs.map(({ ours }) => ours))}${number(pairs.map(({ baseline }) => baseline))} ${unit.padEnd(6)}` +
      `${ratio.toFixed(2).padStart(6)} × (${spread})  goal ${better === 'lower' ? '≤' : '≥'} ${goal} ×  ${met ? 'met' : 'MISSED'}\n`,
  );
}

/** p99 over all rounds together, because one round has too few samples for it. */
export function printTogether(times: { ours: number[]; baseline: number[] }, disturbed: number): void {
  const [ours, baseline] = [quantile(times.ours, 0.99), quantile(times.baseline, 0.99)];
  process.stdout.write(
    `${''.padEnd(44)}of all rounds together ${ours.toFixed(1)} ms against ${baseline.toFixed(1)}: ${(ours / baseline).toFixed(2)} ×\n`,
  );
  printLeftOut(disturbed);
}

export function printLeftOut(disturbed: number): void {
  process.stdout.write(
    `${''.padEnd(44)}${disturbed} more rounds were left out, because other programs used more than 2 % of the CPU\n`,
  );
}

export function printHead(title: string): void {
  process.stdout.write(`\n${title}\n${' '.repeat(44)}      ours  baseline\n`);
}
