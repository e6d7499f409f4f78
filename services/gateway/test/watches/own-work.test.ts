import type { FastifyReply, FastifyRequest } from 'fastify';
import { expect, it } from 'vitest';
import { startJob } from '../../src/resources/classifiers/jobs.ts';
import type { ResourceDeps } from '../../src/resources/resource-deps.ts';
import { watchRoutes } from '../../src/resources/watches/watches.ts';

// The gateway that rests asks for work within the usual time once it is told, which the tests of polls show.
it('tells the gateway of a run that a request asked for, and of a job, once they are stored', async () => {
  const said: string[] = [];
  const store = (what: string, answer: object) => async () => {
    said.push(what);
    return answer;
  };
  const onWork = () => void said.push('work');
  const upstreams = {
    catalog: { runWatch: store('run', { runId: 'r' }) },
    ml: { startJob: store('job', { jobId: 'j' }) },
    executor: { execute: async () => {} },
  };
  const deps = { upstreams, onWork, settings: {} } as unknown as ResourceDeps;
  const run = watchRoutes(deps).find(({ path }) => path.endsWith('/run'));
  const request = {
    params: { watchId: 'w', classifierId: 'c' },
    body: { queryId: 'q', text: 't', label: 'l', id: 'i' },
    context: { principal: { scopes: ['*'], limits: {} } },
    headers: {},
  } as unknown as FastifyRequest;
  expect(await run?.handler(request, {} as FastifyReply)).toEqual({ runId: 'r' });
  expect(await startJob(request, { ...deps.upstreams, onWork })).toEqual({ jobId: 'j' });
  expect(said).toEqual(['run', 'work', 'job', 'work']);
});
