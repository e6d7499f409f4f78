import { expect, it } from 'vitest';
import { partsOf } from '../../../src/state/rows/marks.ts';

const marked = (text: string) =>
  partsOf(text)
    ?.map((part) => (part.isMark ? `[${part.text}]` : part.text))
    .join('') ?? text;

it.each([
  ['plain text', 'plain text'],
  ['two\nlines\r\n', 'two[↵]lines[CR][↵]'],
  ['a\tb', 'a[⇥]b'],
  ['  both ends ', '[··]both ends[·]'],
  [' ', '[·]'],
  ['zero\u200bwidth', 'zero[ZWSP]width'],
  ['\u202eright to left', '[RLO]right to left'],
  ['12\u00a0000\u202f€', '12[NBSP]000[U+202F]€'],
  ['\ufeffa', '[BOM]a'],
  ['a\u0000b\u{e0041}', 'a[U+0000]b[U+E0041]'],
  ['שלום עולם', 'שלום עולם'],
  ['می\u200cخواهم', 'می\u200cخواهم'],
  ['👨\u200d👩\u200d👧', '👨\u200d👩\u200d👧'],
  ['a\u200db', 'a[ZWJ]b'],
  ['', ''],
])('shows what nobody sees in %j', (text, shown) => {
  expect(marked(text)).toBe(shown);
});
