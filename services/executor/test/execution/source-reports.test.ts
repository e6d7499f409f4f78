import { HubError } from '@datahub/service-kit/call/error';
import { expect, it } from 'vitest';
import { createSourceReports } from '../../src/execution/source-reports.ts';

const source = { sourceId: 's', accountId: 'a' };
const unreachable = new HubError('SOURCE_UNREACHABLE', 'The source cannot be reached.');

function start(pauseMs: number, failures = 0) {
  const told: string[] = [];
  const failed: unknown[] = [];
  const reports = createSourceReports({
    catalog: {
      noteSource: async ({ code = 'reachable' }, ctx) => {
        if (failures-- > 0) throw new HubError('UNAVAILABLE', 'away');
        told.push(`${ctx.principal?.accountId} ${code}`);
        return {};
      },
    },
    onFailure: (err) => failed.push(err),
    pauseMs,
  });
  return { reports, told, failed };
}

it('reports the first connection and each change, and repeats what failed', async () => {
  const { reports, told, failed } = start(1, 1);
  reports.note(source);
  reports.note(source);
  await expect.poll(() => told).toEqual(['a reachable']);
  reports.note(source, new HubError('SOURCE_BUSY', 'full'));
  reports.note(source, unreachable);
  await expect.poll(() => told).toEqual(['a reachable', 'a SOURCE_UNREACHABLE']);
  reports.note(source);
  await expect.poll(() => told.at(-1)).toBe('a reachable');
  await reports.close();
  expect([told.length, failed.length]).toEqual([3, 1]);
});

it('reports a source that comes and goes at most once in a pause', async () => {
  const { reports, told } = start(3_600_000);
  for (let i = 0; i < 50; i++) reports.note(source, i % 2 ? unreachable : undefined);
  await expect.poll(() => told).toHaveLength(1);
  await reports.close();
  reports.note(source, unreachable);
  expect(told).toHaveLength(1);
});
