import { expect, it } from 'vitest';
import { batches, parseExamples, readTexts } from '../../../src/pages/classifier/examples.ts';

const refund = { label: 'refund', context: 'give, my "money" back' };

it.each([
  ['CSV with a head, in another order', 'text,id,label\n"give, my ""money"" back",7,refund\n'],
  ['CSV without a head', 'refund,"give, my ""money"" back"'],
  ['a text with commas that was not quoted', 'refund,give, my "money" back'],
  ['tabs', 'refund\tgive, my "money" back\r\n'],
  ['NDJSON', '{"label":"refund","context":"give, my \\"money\\" back"}\n\n'],
  ['NDJSON with other names', '\uFEFF{"category":"refund","message":"give, my \\"money\\" back"}'],
  ['lines that end with CR', 'label,text\rrefund,"give, my ""money"" back"\r'],
  ['a list of JSON', '[\n  {"label": "refund", "text": "give, my \\"money\\" back"}\n]\n'],
])('reads %s', (_name, text) =>
  expect(parseExamples(text)).toEqual({ examples: [refund], faults: [], skipped: 0 }),
);

it('keeps line breaks in quotes, and says which lines are no example', () => {
  const { examples, faults, skipped } = parseExamples('label,text\na,"one\ntwo"\n,nothing\nb,three');
  expect(examples).toEqual([
    { label: 'a', context: 'one\ntwo' },
    { label: 'b', context: 'three' },
  ]);
  expect([faults, skipped]).toEqual([[{ line: 4, detail: 'needs a label and a text' }], 1]);
});

it('makes batches', () => expect([...batches([1, 2, 3, 4, 5], 2)]).toEqual([[1, 2], [3, 4], [5]]));

it.each([
  ['lines', 'one, two\r\n\nthree\n', ['one, two', 'three']],
  ['CSV with a column of texts', 'id,text\n1,"one, two"\n2,three', ['one, two', 'three']],
  ['NDJSON', '{"context":"one, two"}\n{"id":1}\nx\n{"body":"three"}', ['one, two', 'three']],
])('reads unlabelled texts of %s', (_name, input, texts) => expect(readTexts(input)).toEqual(texts));
