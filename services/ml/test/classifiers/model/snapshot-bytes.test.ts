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
  expect(digests).toEqual(['7e38deec9eaaedb3', '8a5e59cfb3923c46', '70f8275ed93a56b0', 'd1278f6fd3af4be1']);
  expect(predicted).toEqual([
    { classId: 'topic 0', confidence: 0.9999467263341509 },
    { classId: 'topic 7', confidence: 0.000012679255853894205 },
  ]);
});
