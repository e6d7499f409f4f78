import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const program = fileURLToPath(new URL('print-snapshots.ts', import.meta.url));

// Stored snapshots contain these bytes. If they change, increment `format` in the learner: a hub then ignores its old
// snapshots and learns each log again.
it('writes the same snapshot for the same examples, on every machine and in every version', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [program]);
  const { digests, predicted } = JSON.parse(stdout);
  expect(digests).toEqual(['7fd3eda71ee028c5', '033c747cb514f8c6', '3cbd1ed4c29f6928', '099b50f9fc2a0b7c']);
  expect(predicted).toEqual([
    { classId: 'topic 0', confidence: 0.999946985608792 },
    { classId: 'topic 7', confidence: 0.000012691530311577669 },
  ]);
});
