/** `npm start [-- --workers N]`: the hub in one process, or in several that share one port. */

import { runProcess } from '@datahub/service-kit/process/lifecycle';
import { readWorkerCount } from './workers/worker-count.ts';

await runProcess({
  start: async (serves) => {
    const workers = readWorkerCount(process.argv.slice(2), process.env);
    if (workers > 1)
      return (await import('./workers/supervisor.ts')).startSupervisor(process.env, workers, serves);
    return (await import('./one-process.ts')).startOneProcess(process.env);
  },
});
