import { expect, test } from 'vitest';
import { expectLinear } from '../../../../../tests/support/growth.ts';
import { foldMarks } from '../../../src/classifiers/model/fold.ts';
import { createLearners } from '../../../src/classifiers/model/online-learner.ts';

test.each([
  ['Arabic vowel signs', 'المنتج مكسور', 'الْمُنْتَجُ مَكْسُورٌ', 'شكرا جزيلا لكم'],
  ['forms of alef, yeh and teh marbuta', 'اريد الغاء الخدمه الي', 'أريد إلغاء الخدمة إلى', 'شكرا جزيلا لكم'],
  ['Persian letters', 'كتاب علي', 'کتاب علی', 'متشكرم از شما'],
  ['Hebrew vowel points', 'שלום חבר', 'שָׁלוֹם חָבֵר', 'תודה רבה'],
  ['Hebrew presentation forms', 'שלום חבר', '\ufb2aלום חבר', 'תודה רבה'],
  ['Russian ё', 'самолет улетел', 'самолёт улетел', 'спасибо большое'],
  ['traditional Chinese', '国际经济关系', '國際經濟關係', '天气很好'],
  ['combining marks', 'crème brûlée', 'cre\u0300me bru\u0302le\u0301e', 'été sucré'],
])('does not distinguish %s', (_, known, variant, other) => {
  const learner = createLearners().create();
  for (const end of ['', ' 1']) {
    learner.learn('A', known + end);
    learner.learn('B', other + end);
  }
  expect(learner.predict(variant)).toEqual(learner.predict(known));
  const backwards = createLearners().create();
  backwards.learn('A', variant);
  backwards.learn('B', other);
  expect(backwards.predict(known)).toEqual(backwards.predict(variant));
});

test('keeps letters that differ, and Japanese characters', () => {
  expect(foldMarks('йод мой קמץ كتاب')).toBe('йод мой קמץ كتاب');
  const learner = createLearners().create();
  learner.learn('A', '機を見る');
  learner.learn('B', '机を見る');
  expect(learner.predict('機を見る')[0]?.classId).toBe('A');
  expect(learner.predict('机を見る')[0]?.classId).toBe('B');
});

test.each(['\u064b', 'ё', '國', 'a\u0301'])('folds 100 kB of %j in linear time', (unit) =>
  expectLinear((size) => foldMarks(unit.repeat(size / unit.length)), 100_000),
);
