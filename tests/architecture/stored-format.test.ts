/** An older hub that opens a store must know all limits of its keys: it would ignore the others. */

import { keyLimitNames } from '@datahub/contract/key-limits';
import { formatVersion } from '@datahub/document-store';
import { expect, it } from 'vitest';

/** By the version of the store. To add a limit, increment `formatVersion` and add a line. */
const limitsOf: Record<number, string[]> = {
  2: [
    'hubIds',
    'queryIds',
    'queries',
    'classifierIds',
    'origins',
    'context',
    'ratePerMinute',
    'maxRows',
    'strict',
    'user',
  ],
};

it('has a version of its own for the limits of keys', () => {
  expect(keyLimitNames).toEqual(limitsOf[formatVersion]);
});
