/** The cost of recording the statistics of one execution, against two increments of a counter in a `Map`. */

import {
  QueryStatistics,
  windowCount,
  windowMs,
} from '../services/executor/src/statistics/query-statistics.ts';
import { createStatisticsRecorder } from '../services/executor/src/statistics/statistics-recorder.ts';
import { printHead, printRow } from './support/table.ts';

const rounds = Number(process.env.BENCH_ROUNDS ?? 5);
const executions = 1_000_000;
const queriesMax = 1_000;
let passedMs = 0;
const now = () => performance.now() + passedMs;
const statistics = new QueryStatistics({ queriesMax, now, nowMs: Date.now });
const recorder = createStatisticsRecorder(statistics);

type Run = Parameters<typeof recorder.executed>[0];
const runs = Array.from({ length: queriesMax }, (_, i) => {
  const query = {
    queryId: `dh.q.${String(i).padStart(30, '0')}`,
    accountId: 'a',
    hubId: 'h',
    versionNumber: 1,
  };
  const durationMs = 0.1 + (i % 50) / 10;
  const outcome = { rowCount: 1 };
  return { query, outcome, now, startedAt: now(), queueMs: 0.03, durationMs, bytes: 60 } as unknown as Run;
});

const counts = new Map<string, number>();
const increment = (name: string) => counts.set(name, (counts.get(name) ?? 0) + 1);

/** CPU time of this process in nanoseconds per execution. */
function cpuNanos(one: (run: Run) => void): number {
  const before = process.cpuUsage();
  for (let i = 0; i < executions; i++) one(runs[i % queriesMax] as Run);
  const { user, system } = process.cpuUsage(before);
  return ((user + system) * 1_000) / executions;
}

printHead(`Statistics of one execution among ${queriesMax.toLocaleString('en')} queries, in CPU time`);
const baseline = (run: Run) => {
  increment(run.query?.queryId ?? '');
  increment('all');
};
cpuNanos(recorder.executed);
cpuNanos(baseline);
const pairs = Array.from({ length: rounds }, () => ({
  ours: cpuNanos(recorder.executed),
  baseline: cpuNanos(baseline),
}));
printRow({ name: 'recording (goal: less than 1 µs)', unit: 'ns', pairs, better: 'lower', goal: 15 });

for (let window = 0; window < windowCount; window++, passedMs += windowMs)
  for (const run of runs) recorder.executed(run);
passedMs -= windowMs;
const principal = { accountId: 'a', keyId: 'k', scopes: ['*'], limits: undefined };
const startedAt = now();
const { queries } = await statistics.read({ queryIds: [] }, principal);
process.stdout.write(
  `${''.padEnd(44)}all ${queries.length} queries with ${windowCount} windows read in ${(now() - startedAt).toFixed(1)} ms\n`,
);
