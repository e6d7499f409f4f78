/** Runs the executor as a separate process. */

import { runProcess } from '@datahub/service-kit/process/lifecycle';
import { createEngines } from './engines/index.ts';
import { compileQuery } from './execution/prepare.ts';
import { startExecutorProcess } from './process.ts';
import { createAnswers } from './result/response-writer.ts';

const parts = { engines: createEngines(), compile: compileQuery, createAnswer: createAnswers() };

await runProcess({ start: () => startExecutorProcess(process.env, parts) });
