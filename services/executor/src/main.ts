/** Runs the executor as a separate process. */

import { runProcess } from '@datahub/service-kit/process/lifecycle';
import { createEngines } from './engines/index.ts';
import { compileStored } from './execution/transactions/compile.ts';
import { startExecutorProcess } from './process.ts';
import { createResponseWriters } from './result/response-writer.ts';

const parts = { engines: createEngines(), compile: compileStored, createWriter: createResponseWriters() };

await runProcess({ start: () => startExecutorProcess(process.env, parts) });
