import { expect, it } from 'vitest';
import { createAnswerOrder } from '../../src/state/answer-order.ts';

it('takes answers in the order of their questions, and drops those that are overtaken', () => {
  const ask = createAnswerOrder();
  const [first, second, third] = [ask(), ask(), ask()];
  expect([first(), third(), second(), ask()()]).toEqual([true, true, false, true]);
});
