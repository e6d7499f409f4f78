/** A program: prints the packages that the edge loads with its default pipeline and the log policy, as JSON. */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pino } from 'pino';
import { defaultPipelinePath } from '../packages/edge/src/default-pipeline.ts';
import { loadExpressGateway } from '../packages/edge/src/express-gateway.ts';
import { parsePipeline } from '../packages/edge/src/pipeline-file.ts';

const packageOf = (path: string) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? '';

const gateway = loadExpressGateway(pino({ level: 'silent' }));
const pipeline = parsePipeline(readFileSync(defaultPipelinePath, 'utf8'), {});
await gateway.createRouter({ ...pipeline, policies: ['log'], pipelines: {} });
const loaded = Object.keys(createRequire(import.meta.url).cache).map(packageOf);
process.stdout.write(JSON.stringify([...new Set(loaded)]));
