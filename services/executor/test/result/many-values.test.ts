import { setImmediate as nextIteration } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createResponseWriter } from '../../src/result/response-writer.ts';

const width = 2_000;
const columns = Array.from({ length: width }, (_, i) => ({
  name: `c${i}`,
  type: 'text',
  kind: { is: 'text' } as const,
}));
const nulls = new Int32Array(2 * width).fill(-1);

it('takes turns by the values that were written, too, because NULLs have hardly any bytes', async () => {
  const reply = { chunk: () => true, onDrain: () => {} };
  const writer = createResponseWriter({ format: 'arrow', numbers: 'auto', meta: false, reply });
  writer.begin(columns);
  let turns = 0;
  let inTurn = 0;
  for (let row = 0; row < 500; row++) {
    writer.row(Buffer.alloc(0), nulls);
    inTurn += width;
    expect(inTurn).toBeLessThan(40_000);
    if (!writer.full) continue;
    turns += 1;
    inTurn = 0;
    while (writer.full) await nextIteration();
  }
  expect(turns).toBeGreaterThan(25);
  writer.finish({ hasRows: true }, { queueMs: 0, durationMs: 0 });
});
