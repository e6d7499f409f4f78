import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { placeOf, type Route } from '../../../services/gateway/src/http/route.ts';
import { scaled } from '../../support/scale.ts';
import type { Call, ToCall } from './calls.ts';
import { fixtures } from './fixtures.ts';
import { payloads, type Shape } from './payloads.ts';
import { type Prepared, prepare } from './prepared.ts';
import { routes } from './reached.ts';
import { bodyWith, spotsOf } from './spots.ts';

/** Documents are smaller, and more of them are read at once. */
const calledTogether = { other: 100, document: 500 };
const heapMebibytes = 384;
const sentShapes: readonly Shape[] = ['objects', 'members', 'long', 'strings'];

/** Without `TEST_SCALE=full`: routes whose calls keep much memory, each in another place. */
const quick: Record<string, string[]> = {
  'GET /v1/hubs/:hubId/openapi.json': ['deep'],
  'POST /v1/queries/check': ['most places'],
  'POST /v1/queries/execute': ['most', 'long at /context/a'],
  'GET /v1/queries/:queryId': ['most'],
  'GET /v1/stats': ['plain'],
  'POST /v1/ai/summarize': ['rows of long'],
  'POST /mcp': ['list'],
};

/** The calls that read what is stored, and those with large values, but not in each place of a body. */
function callsOf(name: string, prepared: Prepared): [which: string, toCall: ToCall][] {
  const { base, spots = [], headers = {}, path: toPath, stored } = fixtures[name] ?? {};
  const { body: schema = {}, path: pattern } = routes.get(name) ?? { path: '' };
  const path = toPath?.(prepared) ?? pattern.replace(/:(\w+)/g, (_, id) => prepared.ids[id] ?? 'none');
  const large = [...spotsOf(schema).filter((spot) => spot.at(-1) === 'value'), ...spots];
  const sent = large.flatMap((spot) =>
    sentShapes.map((shape): [string, ToCall] => [
      `${shape} at /${spot.join('/')}`,
      () => ({ path, headers, body: bodyWith(base?.(prepared), spot, payloads[shape]()) }),
    ]),
  );
  return [...Object.entries(stored?.(prepared) ?? {}), ...(base === undefined ? [] : sent)];
}

describe.skipIf(process.env.POSTGRES_URL === undefined)(
  `${calledTogether.other} of the largest calls at once do not end a process of ${heapMebibytes} MiB (needs POSTGRES_URL)`,
  () => {
    let prepared: Prepared;
    beforeAll(async () => {
      prepared = await prepare(`--max-old-space-size=${heapMebibytes}`);
    });
    afterAll(() => prepared?.close());

    async function send(name: string, { path, body, headers = {} }: Call): Promise<void> {
      const { hub } = prepared;
      const [method = 'GET'] = name.split(' ');
      const response = await fetch(hub.url + path, {
        method,
        headers: { 'x-service-api-key': hub.key, 'content-type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body }),
      });
      for await (const _ of response.body ?? []);
    }

    it.each(scaled(Object.keys(quick), [...routes.keys()]))('%s', async (name) => {
      const wanted = scaled(quick[name], undefined);
      const isDocument = placeOf(routes.get(name) as Route) === 'document';
      const count = calledTogether[isDocument ? 'document' : 'other'];
      for (const [which, toCall] of callsOf(name, prepared)) {
        if (wanted?.includes(which) === false) continue;
        const calls = [];
        for (let i = 0; i < count; i++) calls.push(typeof toCall === 'function' ? await toCall() : toCall);
        // What is refused while it is sent can lose its answer.
        await Promise.allSettled(calls.map((call) => send(name, call)));
        const isThere = await prepared.look().then(
          () => true,
          () => false,
        );
        expect([name, which, isThere]).toEqual([name, which, true]);
      }
    });
  },
);
