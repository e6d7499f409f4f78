/** Orders test files so that no worker waits for a long one at the end of a run. */

import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * The slowest files, in the order of their durations. `npm test` prints the slowest twenty files of a run; a file among
 * them belongs in this list.
 */
export const slowest = [
  'tests/chaos/first-start.test.ts',
  'tests/chaos/documented-commands.test.ts',
  'tests/chaos/sealed.test.ts',
  'tests/chaos/replicas.test.ts',
  'tests/chaos/source-faults.test.ts',
  'tests/chaos/keys.test.ts',
  'tests/e2e/console-keyboard.test.ts',
  'tests/e2e/types.test.ts',
  'tests/e2e/console-classifiers.test.ts',
  'tests/e2e/console-hostile.test.ts',
  'tests/e2e/console.test.ts',
  'tests/e2e/console-queries.test.ts',
  'tests/e2e/console-access.test.ts',
  'tests/e2e/console-account.test.ts',
  'tests/e2e/console-statistics.test.ts',
  'tests/e2e/console-keyboard-changes.test.ts',
  'tests/chaos/canary.test.ts',
  'tests/chaos/inner-ports.test.ts',
  'tests/chaos/training-jobs.test.ts',
  'services/executor/test/hostile/hostile.test.ts',
];

/** Files of different projects run in one order, the slowest first; the others as vitest orders them. */
export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const at = slowest.findIndex((path) => moduleId.endsWith(`/${path}`));
      return at === -1 ? slowest.length : at;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}
