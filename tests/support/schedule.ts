/** How many test files run at the same time, and in an order in which no worker waits for a long one at the end. */

import { availableParallelism } from 'node:os';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** They wait more than they compute, so there are more of them than cores. */
export const workers = availableParallelism() + 2;

/**
 * The slowest files, in the order of their durations. `npm test` prints the slowest twenty files of a run; a file among
 * them belongs in this list.
 */
export const slowest = [
  'tests/chaos/providers.test.ts',
  'tests/architecture/release-files.test.ts',
  'tests/chaos/watches.test.ts',
  'tests/chaos/training-jobs.test.ts',
  'tests/chaos/ends-of-writes.test.ts',
  'tests/chaos/observability.test.ts',
  'tests/architecture/openapi.test.ts',
  'tests/e2e/ci-workflows.test.ts',
  'tests/e2e/console-typing.test.ts',
  'tests/chaos/replicas.test.ts',
  'tests/e2e/console-access.test.ts',
  'tests/chaos/source-faults.test.ts',
  'tests/e2e/console-shown.test.ts',
  'tests/chaos/documented-commands.test.ts',
  'tests/e2e/console-keyboard-changes.test.ts',
  'tests/e2e/console-keyboard.test.ts',
  'tests/e2e/jobs.test.ts',
  'tests/e2e/console-classifiers.test.ts',
  'tests/chaos/writing-watches.test.ts',
  'tests/chaos/first-start.test.ts',
  'tests/chaos/small-chunks.test.ts',
  'tests/chaos/slots.test.ts',
  'tests/e2e/console-queries.test.ts',
  'tests/e2e/attribution.test.ts',
  'tests/chaos/inner-messages.test.ts',
  'tests/e2e/ssh.test.ts',
  'services/executor/test/hostile/hostile.test.ts',
  'tests/e2e/console-rows.test.ts',
  'tests/chaos/cut-writes.test.ts',
  'tests/chaos/receivers.test.ts',
  'tests/chaos/money.test.ts',
  'tests/e2e/hub-files.test.ts',
  'tests/e2e/classifier-import.test.ts',
  'tests/chaos/start-output.test.ts',
  'tests/e2e/destinations.test.ts',
  'tests/chaos/workers.test.ts',
  'tests/matrix/matrix.test.ts',
  'tests/e2e/attacking-pages.test.ts',
  'packages/document-store/test/mongodb/store.servers.test.ts',
  'tests/e2e/cache.test.ts',
  'tests/e2e/console.test.ts',
  'tests/chaos/stalls/stalls.test.ts',
  'tests/e2e/console-hostile.test.ts',
  'tests/chaos/npm-start.test.ts',
  'tests/e2e/console-endings.test.ts',
  'services/executor/test/engines/session-state.servers.test.ts',
  'packages/statement/test/hostile.test.ts',
  'tests/chaos/cut-streams.test.ts',
  'services/catalog/test/rpc/query-runs.servers.test.ts',
  'tests/chaos/rotation.test.ts',
  'tests/chaos/first-ten-minutes.test.ts',
  'tests/e2e/people.test.ts',
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
