/**
 * A reporter of vitest that writes the errors which no test has caught, such as a rejected promise that nobody awaits,
 * as JSON to the file that ERRORS_OUTSIDE names. The JSON report of vitest leaves them out.
 */

import { writeFile } from 'node:fs/promises';
import type { Reporter, TestModule } from 'vitest/node';

/** An error outside of a test. */
export interface ErrorOutside {
  /** The absolute path of the file that ran meanwhile. Errors of the set-up have none. */
  file?: string;
  /** Its name, message and stack. */
  error: string;
}

type Errors = Parameters<NonNullable<Reporter['onTestRunEnd']>>[1];

export default class ErrorsOutside implements Reporter {
  async onTestRunEnd(_modules: readonly TestModule[], errors: Errors): Promise<void> {
    const path = process.env.ERRORS_OUTSIDE;
    if (path === undefined) return;
    const outside = errors.map(({ name, message, stack, VITEST_TEST_PATH: file }): ErrorOutside => {
      const error = stack?.includes(message) ? stack : [`${name}: ${message}`, stack].join('\n');
      return typeof file === 'string' ? { file, error } : { error };
    });
    await writeFile(path, JSON.stringify(outside));
  }
}
