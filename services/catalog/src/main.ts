/** The catalog as a process of its own. */

import { runProcess } from '@datahub/service-kit/process/lifecycle';
import { startCatalogProcess } from './process.ts';

await runProcess({ start: () => startCatalogProcess(process.env) });
