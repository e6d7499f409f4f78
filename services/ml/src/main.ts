/** Entry point of the ml service as a separate process. */

import { runProcess } from '@datahub/service-kit/process/lifecycle';
import { startMlProcess } from './process.ts';

await runProcess({ start: () => startMlProcess(process.env) });
