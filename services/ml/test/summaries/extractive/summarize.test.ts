import { HubError } from '@datahub/service-kit/call/error';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { expectLinear } from '../../../../../tests/support/growth.ts';
import { summarize } from '../../../src/summaries/extractive/summarize.ts';
import { countWords } from '../../../src/summaries/extractive/words.ts';

const article = [
  'The harbour of Lund will be closed for two years while its quay is rebuilt.',
  'The council voted for the rebuilding of the quay on Monday after a long debate.',
  'Mayor Ida Berg said the old quay had become a danger for ships and people.',
  'It was raining.',
  'Fishermen fear that two years without a harbour will cost them their customers.',
  'The council promised the fishermen a smaller harbour in the north of the town.',
  'A coffee shop on the quay will move into the old station.',
  'Work on the quay begins in May, and the harbour of Lund opens again in two years.',
  'Nobody could say who will pay if the rebuilding takes longer.',
];

/** The error that the call throws. */
function failure(call: () => unknown): HubError {
  try {
    call();
  } catch (err) {
    if (err instanceof HubError) return err;
    throw err;
  }
  throw new Error('The call did not fail.');
}

describe('the length', () => {
  test('is about a quarter of the sentences by default', () => {
    expect(article.filter((sentence) => summarize([[article.join(' ')]]).includes(sentence))).toHaveLength(2);
  });

  test('is at most eight sentences by default', () => {
    const many = Array.from(
      { length: 300 },
      (_, i) => `Report ${i} tells of storm ${i * 7} and harbour ${i % 9}.`,
    );
    expect(summarize([[many.join(' ')]]).match(/\./g)?.length).toBeLessThanOrEqual(8);
  });

  test('stays within the requested sentences and words', () => {
    expect(summarize([[article.join(' ')]], { sentences: 1 }).match(/\./g)).toHaveLength(1);
    expect(countWords(summarize([[article.join(' ')]], { maxWords: 40 }))).toBeLessThanOrEqual(40);
    expect(summarize([[article.join(' ')]], { maxWords: 40 })).not.toBe('');
  });

  test('is a whole short sentence if longer ones do not fit', () => {
    expect(summarize([[article.join(' ')]], { maxWords: 3 })).toBe('It was raining.');
  });

  test('is refused if not even the shortest sentence fits', () => {
    for (const text of [article.join(' '), 'Is it so? Go now!', '港口将关闭两年。']) {
      const words = Math.min(
        ...text
          .split(/(?<=[.!?。]) */)
          .filter(Boolean)
          .map(countWords),
      );
      const error = failure(() => summarize([[text]], { maxWords: words - 1 }));
      expect([error.code, error.errors]).toEqual([
        'VALIDATION',
        [
          {
            path: ['maxWords'],
            detail: `must be at least ${words}: the shortest sentence has ${words} words, and sentences are not cut`,
          },
        ],
      ]);
      expect(countWords(summarize([[text]], { maxWords: words }))).toBe(words);
    }
  });

  test('includes a sentence of each of a few texts', () => {
    const harbour = article.slice(0, 3).join(' ');
    const weather =
      'Rain fell on the hills all night. Farmers near the river moved their cows. The river kept rising.';
    const other = 'Prices of bread rose. Bakers blame the harvest.';
    const partOf = (text: string, summary: string) =>
      text.split(/(?<=\.) /).some((sentence) => summary.includes(sentence));
    for (const texts of [
      [harbour, weather],
      [weather, harbour],
      [article.join(' '), other],
      [harbour, weather, other],
    ]) {
      for (const options of [{}, { sentences: texts.length }, { maxWords: 40 }]) {
        const summary = summarize(
          texts.map((text) => [text]),
          options,
        );
        expect(texts.map((text) => partOf(text, summary))).toEqual(texts.map(() => true));
        expect(countWords(summary)).toBeLessThan(countWords(texts.join(' ')));
      }
      expect(
        summarize(
          texts.map((text) => [text]),
          { sentences: 1 },
        ).match(/\./g),
      ).toHaveLength(1);
    }
    expect(summarize([[harbour], ['Rain fell.']], { maxWords: 2 })).toBe('Rain fell.');
  });

  test('returns one or two sentences unchanged', () => {
    expect(summarize([['Only this.']])).toBe('Only this.');
    expect(summarize([['First this. Then that!']])).toBe('First this. Then that!');
    expect(summarize([['no mark'], ['nor here']])).toBe('no mark\nnor here');
  });
});

describe('the selection', () => {
  test('takes whole sentences in text order', () => {
    const summary = summarize([[article.join(' ')]], { sentences: 3 });
    const places = article.filter((sentence) => summary.includes(sentence));
    expect(places).toHaveLength(3);
    expect(summary).toBe(places.join(' '));
  });

  test('contains a sentence once if several documents repeat it', () => {
    const shared = 'The harbour of Lund will be closed for two years.';
    const summary = summarize([
      [`${shared} The mayor is glad about it.`],
      [`${shared} Fishermen are angry with the mayor.`],
      [`${shared.toUpperCase()} Ships go to the north.`],
    ]);
    expect(summary.toLowerCase().split('the harbour of lund').length - 1).toBeLessThanOrEqual(1);
    expect(summarize([[shared], [shared], [shared]])).toBe(shared);
  });

  test('finds the most frequent statement of many opinions', () => {
    const opinions = Array.from({ length: 30 }, (_, i) =>
      i % 3 === 0 ? `Shop ${i} was near tower ${i * 3}.` : `The battery life is great in my model ${i}.`,
    );
    expect(
      summarize(
        opinions.map((text) => [text]),
        { sentences: 1 },
      ),
    ).toMatch(/battery life is great/);
  });

  test('prefers facts to quoted speech in a short summary', () => {
    const happened = 'The harbour of Lund will be closed for two years while its quay is rebuilt.';
    const said = '"The harbour of Lund will be closed for two years while its quay is rebuilt," Berg said.';
    const rest = article.slice(1).join(' ');
    expect(summarize([[`${said} ${happened} ${rest}`]], { sentences: 1 })).toBe(happened);
  });

  test('prefers statements of the authors about their work', () => {
    const abstract =
      'Many harbours silt up over the years and lose their ships. ' +
      'The reasons have been sought in rivers and in tides. ' +
      'We show that harbours silt up over the years where the quay is old, and lose ships. ' +
      'Rivers and tides carry too little sand.';
    expect(summarize([[abstract]], { sentences: 1 })).toMatch(/^We show/);
  });

  test('accepts names of object members as words', () => {
    const text =
      '__proto__ met constructor. toString met __proto__ again. hasOwnProperty met constructor and __proto__.';
    expect(text).toContain(summarize([[text]], { sentences: 1 }));
  });
});

test.each([
  [
    'zh',
    '港口将关闭两年。市议会周一投票决定重建码头。市长说旧码头很危险。那天下雨。渔民担心失去客户。港口码头重建从五月开始。',
  ],
  [
    'de',
    'Der Hafen wird z. B. zwei Jahre geschlossen. Am 3. Mai beginnt der Bau am Hafen. Dr. Berg freut sich. Es regnete. Die Fischer sorgen sich um den Hafen.',
  ],
  [
    'ar',
    'سيغلق الميناء لمدة عامين. صوت المجلس على إعادة بناء الميناء. هل كان المطر يهطل؟ يخشى الصيادون إغلاق الميناء. يبدأ العمل في مايو.',
  ],
  [
    'th',
    'ท่าเรือจะปิดเป็นเวลาสองปีเพื่อสร้างท่าเทียบเรือใหม่ทั้งหมด สภาเมืองลงมติให้สร้างท่าเทียบเรือใหม่เมื่อวันจันทร์ที่ผ่านมา ชาวประมงกลัวว่าท่าเรือที่ปิดนานสองปีจะทำให้เสียลูกค้า',
  ],
])('summarizes %s with whole sentences', (language, text) => {
  const guessed = summarize([[text]], { sentences: 1 });
  expect(text).toContain(guessed);
  expect(guessed.length).toBeLessThan(text.length / 2);
  expect(summarize([[text]], { sentences: 1, language })).toBe(guessed);
});

describe('refuses', () => {
  test.each([[[]], [[[]]], [[['', ' \n\t']]]])('%j, which contains no text', (documents) => {
    expect(failure(() => summarize(documents)).code).toBe('VALIDATION');
  });

  test.each([
    { sentences: 0 },
    { maxWords: 1.5 },
    { sentences: Number.NaN },
    { language: 'not a tag' },
    { language: 'xx' },
  ])('%j', (options) => {
    const error = failure(() => summarize([['Some text.']], options));
    expect([error.code, error.errors?.length]).toEqual(['VALIDATION', 1]);
  });

  test('too many characters or sentences', () => {
    expect(failure(() => summarize([['a'.repeat(8 * 1024 * 1024 + 1)]])).code).toBe('TOO_LARGE');
    const sentences = Array.from({ length: 100_001 }, (_, i) => `a${i}.`).join(' ');
    expect(failure(() => summarize([[sentences]])).code).toBe('TOO_LARGE');
  });
});

describe('for any text', () => {
  const part = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 30 }),
    fc.constantFrom(
      '. ',
      '? ',
      '\n',
      '\n\n',
      ' . ',
      '。',
      ' ',
      '"',
      'Dr. ',
      '3.5 ',
      'e.g. ',
      '- ',
      '...',
      ...article,
    ),
  );
  const passage = fc.array(part, { maxLength: 30 }).map((parts) => parts.join(''));
  const documents = fc.array(fc.array(passage, { maxLength: 4 }), { minLength: 1, maxLength: 4 });
  const options = fc.record(
    { sentences: fc.integer({ min: 1, max: 20 }), maxWords: fc.integer({ min: 1, max: 100 }) },
    { requiredKeys: [] },
  );

  test('a summary is not empty, not longer than the input, taken from it, within its limits and deterministic', () => {
    fc.assert(
      fc.property(documents, options, (texts, asked) => {
        fc.pre(texts.flat().join('').trim() !== '');
        let summary: string;
        try {
          summary = summarize(texts, asked);
        } catch (err) {
          // Only for a maximum that is less than the shortest sentence.
          expect([asked.maxWords === undefined, (err as HubError).errors?.[0]?.path]).toEqual([
            false,
            ['maxWords'],
          ]);
          return;
        }
        const input = texts.flat().join('\n');
        expect(summary.trim()).not.toBe('');
        expect(summary.length).toBeLessThanOrEqual(input.length);
        expect(isSpelledFrom(summary, input)).toBe(true);
        if (asked.maxWords !== undefined) expect(countWords(summary)).toBeLessThanOrEqual(asked.maxWords);
        expect(summarize(texts, asked)).toBe(summary);
      }),
      { numRuns: 300 },
    );
  });

  test.each(['-', ' x', 'a', '. ', 'a. ', '."', '中', '\n', 'สวัสดี', 'Dr. '])(
    '100 kB of %j take linear time',
    async (unit) => {
      expect(summarize([[unit.repeat(100_000 / unit.length), 'x']])).not.toBe('');
      await expectLinear((size) => summarize([[unit.repeat(size / unit.length), 'x']]), 100_000);
    },
  );
});

/** Whether the characters of the summary, without spaces, occur in the input in this order. */
function isSpelledFrom(summary: string, input: string): boolean {
  const characters = Array.from(summary.replace(/\s+/g, ''));
  let at = 0;
  return characters.every((character) => {
    const found = input.indexOf(character, at);
    at = found + character.length;
    return found >= 0;
  });
}
