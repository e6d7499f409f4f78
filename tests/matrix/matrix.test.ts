/** Runs every check on every available server. A check that a server cannot pass has a reason, and must fail. */

import { beforeAll, describe, expect, it } from 'vitest';
import { checks, runMatrix, type TargetResult } from './run.ts';
import { targets } from './targets.ts';

let results: Map<string, TargetResult>;

beforeAll(async () => {
  results = await runMatrix(process.env);
}, 180_000);

describe.each(targets)('$name', ({ name: target, variable, lacks }) => {
  describe.skipIf(process.env[variable] === undefined)(`(needs ${variable})`, () => {
    it.each(checks)('$name', ({ name }) => {
      const reason = lacks[name];
      const failure = results.get(target)?.failures.get(name);
      if (reason === undefined) {
        if (failure !== undefined) expect.fail(failure);
      } else expect(failure, `The check passes, so remove its reason: ${reason}`).toBeDefined();
    });
  });
});
