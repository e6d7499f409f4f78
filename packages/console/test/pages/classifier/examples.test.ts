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

it.each([
  ['semicolons', 'label;text;ticket\nrefund;"give, my ""money"" back";4711'],
  ['tabs', 'label\ttext\tcreated\nrefund\tgive, my "money" back\t2026-01-01'],
  ['a subject besides the text', 'label,subject,body\nrefund,hello,"give, my ""money"" back"'],
])('leaves out other columns of a header: %s', (_name, text) =>
  expect(parseExamples(text)).toEqual({ examples: [refund], faults: [], skipped: 0 }),
);

it('says which lines have other fields than the header', () => {
  const { examples, faults, skipped } = parseExamples(
    'context,label\nmy parcel, which is late,delivery\nwhere is it,delivery\n\nhello',
  );
  expect(examples).toEqual([{ label: 'delivery', context: 'where is it' }]);
  expect(skipped).toBe(2);
  expect(faults).toEqual([
    { line: 2, detail: 'has 3 fields, and the header has 2' },
    { line: 5, detail: 'has 1 field, and the header has 2' },
  ]);
});

it('makes batches', () => expect([...batches([1, 2, 3, 4, 5], 2)]).toEqual([[1, 2], [3, 4], [5]]));

it.each([
  ['lines', 'one, two\r\n\nthree\n', ['one, two', 'three']],
  ['CSV with a column of texts', 'id,text\n1,"one, two"\n2,three', ['one, two', 'three']],
  ['a last column without quotes', 'id,text\n1,one, two\n2,three', ['one, two', 'three']],
  ['a column before others', 'subject,body,id\nhello,"one, two",1\nhi,three,2', ['one, two', 'three']],
  ['NDJSON', '{"context":"one, two"}\n{"id":1}\nx\n{"body":"three"}', ['one, two', 'three']],
])('reads unlabelled texts of %s', (_name, input, texts) => expect(readTexts(input)).toEqual(texts));
