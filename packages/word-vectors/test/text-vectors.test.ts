import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { expectLinear } from '../../../tests/support/growth.ts';
import { chineseDimensions, createTextVectors, englishDimensions } from '../src/text-vectors.ts';

const toVector = createTextVectors();
const dot = (a: Float32Array, b: Float32Array) => a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0);
const similarity = (a: string, b: string) => dot(toVector(a), toVector(b));

describe('the vector of a text', () => {
  it('is similar for similar meanings in other words', () => {
    const asked = 'where is my parcel';
    for (const near of ['the package was not delivered', 'shipping takes too long'])
      for (const far of ['the guitar solo is great', 'my knee hurts'])
        expect(similarity(asked, near)).toBeGreaterThan(similarity(asked, far));
  });

  it('has norm 1 if all words are known, and less if some are not', () => {
    const known = toVector("Don't they play football on Sundays?");
    expect(known).toHaveLength(englishDimensions);
    expect(dot(known, known)).toBeCloseTo(1, 5);
    const partly = toVector('they play football on sundays with zxqv brrkl');
    expect(dot(partly, partly)).toBeGreaterThan(0);
    expect(dot(partly, partly)).toBeLessThan(0.9);
  });

  it.each([
    ['我的包裹在哪里', '快递还没有送到', '吉他独奏很精彩'],
    ['荷物はどこですか', '配達が遅れています', 'ギターの演奏が素晴らしい'],
  ])('is similar for similar meanings in Chinese and Japanese: %s', (asked, near, far) => {
    const vector = toVector(asked);
    expect(vector).toHaveLength(chineseDimensions);
    expect(dot(vector, vector)).toBeCloseTo(1, 5);
    expect(similarity(asked, near)).toBeGreaterThan(similarity(asked, far));
  });

  it.each(['12 345 !!!', '', '\ud800'])('is empty if there are no words: %j', (text) => {
    expect(toVector(text)).toHaveLength(0);
  });

  it('does not depend on case or the kind of apostrophe', () => {
    expect(toVector('DON’T panic')).toEqual(toVector("don't panic"));
    expect(toVector('a naïve café owner')).toEqual(toVector('A NAÏVE CAFÉ OWNER'));
  });

  it.each([
    ['the quick brown foxes jumped over 13 lazy dogs', '4770bcc3dd8134d6'],
    ['敏捷的狐狸跳过了懒狗', 'b6ec2c726e4d23bf'],
  ])(
    'has the same numbers on every machine, because snapshots and replicas depend on them: %s',
    (text, digest) => {
      const bytes = new Uint8Array(toVector(text).buffer);
      expect(createHash('sha256').update(bytes).digest('hex').slice(0, 16)).toBe(digest);
    },
  );

  it.each(['a', 'q'.repeat(63).concat(' the '), "n't", '国', '国 '])(
    'is computed in linear time from many of %j',
    (piece) => expectLinear((size) => toVector(piece.repeat(size / piece.length)), 1_000_000),
  );
});

it('comes from the table files that the README names', () => {
  const recipe = readFileSync(new URL('../../../tools/word-vectors/README.md', import.meta.url), 'utf8');
  for (const file of ['pieces.bin', 'words.bin', 'chinese.bin']) {
    const bytes = readFileSync(new URL(`../tables/${file}`, import.meta.url));
    expect(recipe).toContain(`| \`${file}\` | ${createHash('sha256').update(bytes).digest('hex')} |`);
  }
});
