/** The thread's side: one request at a time, one answer each. */

import { parentPort } from 'node:worker_threads';
import { toHubError } from '@datahub/service-kit/call/error';
import { summarize } from './summarize.ts';
import type { Answer, Task } from './worker-messages.ts';

parentPort?.on('message', ({ documents, options }: Task) => {
  parentPort?.postMessage(answer(() => summarize(documents, options)));
});

/** An error class does not survive the way between threads; its public part does. */
function answer(work: () => string): Answer {
  try {
    return { generated: work() };
  } catch (err) {
    const { code, message, errors } = toHubError(err);
    return { code, message, errors, cause: err instanceof Error ? err.stack : String(err) };
  }
}
