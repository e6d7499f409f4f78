/** Runs the executor as a separate process. */

import { runProcess } from '@datahub/service-kit/process/lifecycle';
import { createEngines } from './engines/index.ts';
import { compileQuery } from './execution/prepare.ts';
import { startExecutorProcess } from './process.ts';
import { createResponseWriters } from './result/response-writer.ts';

const parts = { engines: createEngines(), compile: compileQuery, createWriter: createResponseWriters() };

await runProcess({ start: () => startExecutorProcess(process.env, parts) });
