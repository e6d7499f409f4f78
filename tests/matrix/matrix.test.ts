/** Runs every check on every available server. A check that a server cannot pass has a reason, and must fail. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type SpawnedHub, spawnHub } from '../support/spawned.ts';
import { checks, runMatrix, type TargetResult } from './run.ts';
import { targets } from './targets.ts';

let hub: SpawnedHub | undefined;
let results: Map<string, TargetResult>;

beforeAll(async () => {
  hub = await spawnHub({ DATAHUB_POOL_WAIT_MS: '15000' });
  results = await runMatrix({ hub, env: process.env });
}, 180_000);
afterAll(() => hub?.close());

describe.each(targets)('$name', ({ name: target, variable, lacks }) => {
  describe.skipIf(process.env[variable] === undefined)(`(needs ${variable})`, () => {
    it.each(checks)('$name', ({ name }) => {
      const reason = lacks[name];
      const failure = results.get(target)?.failures.get(name);
      if (reason === undefined) expect(failure).toBeUndefined();
      else expect(failure, `The check passes, so remove its reason: ${reason}`).toBeDefined();
    });
  });
});
