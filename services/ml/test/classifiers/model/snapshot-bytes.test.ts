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
  expect(digests).toEqual(['e27bc84f9cd9e5e3', 'a325277ba4d5e7d7', 'c73704ab2bb1085e', 'f22aad32632acc15']);
  expect(predicted).toEqual([
    { classId: 'topic 0', confidence: 0.998205043117266 },
    { classId: 'topic 7', confidence: 0.00023578273200529394 },
  ]);
});
