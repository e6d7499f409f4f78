/** The tasks of a page's main thread, measured by the browser's tracing. */

import type { CDPSession } from 'playwright-core';

export interface Task {
  /** The time until the page can handle an event. */
  wallMs: number;
  /** Does not depend on other programs of the machine. */
  cpuMs: number;
}

interface TraceEvent {
  name: string;
  pid: number;
  tid: number;
  dur?: number;
  tdur?: number;
}

/** Returns the tasks of the page during `work`, and the process that runs them. The page must draw meanwhile. */
export async function tasksDuring(
  session: CDPSession,
  work: () => Promise<unknown>,
): Promise<{ tasks: Task[]; pid: number }> {
  const events: TraceEvent[] = [];
  const collect = ({ value }: { value: object[] }) => events.push(...(value as TraceEvent[]));
  session.on('Tracing.dataCollected', collect);
  await session.send('Tracing.start', {
    traceConfig: { includedCategories: ['toplevel', 'devtools.timeline'] },
  });
  await work();
  const complete = new Promise((resolve) => session.once('Tracing.tracingComplete', resolve));
  await session.send('Tracing.end');
  await complete;
  session.off('Tracing.dataCollected', collect);
  const drawing = events.find(({ name }) => name === 'FireAnimationFrame');
  if (drawing === undefined) throw new Error('The page drew nothing.');
  const tasks = events
    .filter(({ name, pid, tid }) => name.endsWith('RunTask') && pid === drawing.pid && tid === drawing.tid)
    .map(({ dur = 0, tdur = 0 }) => ({ wallMs: dur / 1_000, cpuMs: tdur / 1_000 }));
  return { tasks, pid: drawing.pid };
}
