import { describe, expect, it } from 'vitest';
import { RecordBatches } from '../../src/rows/record-batches.ts';

async function read(text: string, options: { isCsv?: boolean; fromLine?: number } = {}) {
  const chunks = (async function* () {
    // Records go over the ends of chunks.
    for (let at = 0; at < text.length; at += 7_001) yield Buffer.from(text.slice(at, at + 7_001));
  })();
  const batches = new RecordBatches({ chunks, isCsv: false, fromLine: 1, ...options });
  const all: { records: string[]; lines: number[] }[] = [];
  for (let batch = await batches.next(); batch !== undefined; batch = await batches.next()) all.push(batch);
  return { all, columns: batches.columns };
}

describe('batches of records', () => {
  it('have at most 1,000 records, and the line of each', async () => {
    const text = Array.from({ length: 2_345 }, (_, i) => `{"id":${i}}\n${i % 2 ? '\n' : ''}`).join('');
    const { all } = await read(text);
    expect(all.map(({ records }) => records.length)).toEqual([1_000, 1_000, 345]);
    expect(all[0]?.lines.slice(0, 5)).toEqual([1, 2, 4, 5, 7]);
    expect(all[2]?.records.at(-1)).toBe('{"id":2344}');
  });

  it('end at a mebibyte', async () => {
    const record = `{"text":"${'x'.repeat(400_000)}"}`;
    const { all } = await read(`${record}\n`.repeat(5));
    expect(all.map(({ records }) => records.length)).toEqual([3, 2]);
  });

  it('leave out earlier lines, but not the header', async () => {
    const { all, columns } = await read('id,name\n1,a\n2,"b\nb"\n3,c\n', { isCsv: true, fromLine: 3 });
    expect(columns).toEqual(['id', 'name']);
    expect(all).toEqual([{ records: ['["2","b\\nb"]', '["3","c"]'], lines: [3, 5] }]);
  });

  it.each([
    ['{}\n'.repeat(3) + 'x'.repeat(1_100_000), false, 4, /is longer than/],
    [`{${Array.from({ length: 20_001 }, (_, i) => `"a${i}":1`)}}\n`, false, 1, /more than 20000 members/],
    ['['.repeat(500_000), false, 1, /deeper than 64 levels/],
    [`a\n${','.repeat(20_000)}\n`, true, 2, /more than 10000 fields/],
    ['a,b\n1,2\n3\n', true, 3, /has 1 field, and the header has 2/],
    ['a\n"1\n', true, 2, /without a closing quote/],
  ])(
    'pass on what comes before a record that cannot be read, then fail with its line',
    async (text, isCsv, line, message) => {
      const chunks = (async function* () {
        yield Buffer.from(text);
      })();
      const batches = new RecordBatches({ chunks, isCsv, fromLine: 1 });
      const before = line - (isCsv ? 2 : 1);
      if (before > 0) expect((await batches.next())?.records).toHaveLength(before);
      await expect(batches.next()).rejects.toMatchObject({
        code: 'VALIDATION',
        line,
        message: expect.stringMatching(message),
      });
    },
  );

  it.each(['a,a\n1,2\n', 'a,\n1,2\n', '"a\n'])('refuse the header %j', async (text) => {
    await expect(read(text, { isCsv: true })).rejects.toMatchObject({ code: 'VALIDATION' });
  });
});
