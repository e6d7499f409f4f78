import { expect, test } from 'vitest';
import { splitSentences } from '../../../src/summaries/extractive/segment.ts';

const split = (text: string, ordinals = false) =>
  splitSentences(text, { ordinals }).map(({ start, end }) => text.slice(start, end));

test.each([
  ['titles and initials', ['Mr. Smith met Dr. J. K. Rowling.', 'They spoke.']],
  ['decimals and versions', ['It cost $3.5 in v2.1 of node.js then.', 'Not now.']],
  ['acronyms', ['U.S. sales fell, e.g. in May.', 'She left at 5 p.m.', 'Then it ended.']],
  ['lower-case texts', ['we ate it.', 'it was good.', '5 stars!!', 'would go again :)']],
  ['spaces before full stops', ['he left .', 'it was late .', 'nobody saw .']],
  ['quotes', ['"Yes." he said.', '“No!”', 'She went (at last.)', 'He stayed.']],
  ['ellipses', ['Well... and so on.', 'Wait…', 'There.']],
  ['Chinese', ['他来了。', '她走了！', '是吗？', '「好。」', '他说']],
  ['Arabic', ['هذا نص.', 'هل أنت بخير؟', 'نعم.']],
  ['Hindi', ['यह एक वाक्य है।', 'यह दूसरा है।']],
])('splits texts with %s', (_, sentences) => {
  expect(split(sentences.join(' ')).map((sentence) => sentence.trim())).toEqual(sentences);
});

test('does not split after German abbreviations and ordinals', () => {
  const sentences = ['Das ist z. B. gut.', 'Am 3. Mai kam er.', 'Dr. Müller ging.'];
  expect(split(sentences.join(' '), true)).toEqual(sentences);
});

test('splits where a space is missing, and in Chinese without spaces', () => {
  expect(split('Great!The food was good.We liked it.')).toEqual([
    'Great!',
    'The food was good.',
    'We liked it.',
  ]);
  expect(split('他来了。她走了！')).toEqual(['他来了。', '她走了！']);
});

test('splits at blank lines, headlines and list items, not at wrapped lines', () => {
  expect(split('A headline\nThe text begins.\n\nnext paragraph')).toEqual([
    'A headline',
    'The text begins.',
    'next paragraph',
  ]);
  expect(split('- one item\n- two items\n1. first\n2. second')).toEqual([
    '- one item',
    '- two items',
    '1. first',
    '2. second',
  ]);
  const wrapped = 'This line was wrapped by an editor, which breaks it at\nEighty or so characters.';
  expect(split(wrapped)).toEqual([wrapped]);
});

test('splits Thai at spaces between long pieces', () => {
  const first = 'ท่าเรือจะปิดเป็นเวลาสองปีเพื่อสร้างท่าเทียบเรือใหม่';
  expect(split(`${first} ชาวประมงกลัวว่าจะเสียลูกค้า`)).toEqual([first, 'ชาวประมงกลัวว่าจะเสียลูกค้า']);
});

test('splits a long text without punctuation between words', () => {
  const text = 'word '.repeat(1_000).trim();
  const pieces = split(text);
  expect(pieces.length).toBeGreaterThan(10);
  expect(pieces.join(' ')).toBe(text);
});

test('returns a text without words unchanged', () => {
  expect(split(' *** ')).toEqual(['***']);
  expect(split(' \n ')).toEqual([]);
});
