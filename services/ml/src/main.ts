/** The ml service as a process of its own. */

import { runProcess } from '@datahub/service-kit/process/lifecycle';
import { startMlProcess } from './process.ts';

await runProcess({ start: () => startMlProcess(process.env) });
