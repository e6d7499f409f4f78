/** The gateway as a process of its own. */

import { runProcess } from '@datahub/service-kit/process/lifecycle';
import { startGatewayProcess } from './process.ts';

await runProcess({ start: () => startGatewayProcess(process.env) });
