/** The executor as a process of its own. */

import { runProcess } from '@datahub/service-kit/lifecycle';
import { compileQuery } from './compile-query.ts';
import { createEngines } from './engines/index.ts';
import { startExecutorProcess } from './process.ts';
import { createAnswers } from './rows/answer.ts';

const parts = { engines: createEngines(), compile: compileQuery, createAnswer: createAnswers() };

await runProcess({ start: () => startExecutorProcess(process.env, parts) });
