import { deserialize } from 'node:v8';
import { expect, it } from 'vitest';
import { createRandom } from '../../../../../tests/support/random.ts';
import type { Learner } from '../../../src/classifiers/learner.ts';
import { createLearners } from '../../../src/classifiers/model/online-learner.ts';

const learners = createLearners();

const topics = {
  animals: 'dog cat horse cow sheep bird fish rabbit goat duck mouse wolf bear lion tiger',
  food: 'bread cheese soup rice meat butter salad cake pasta egg fruit sugar potato sauce bean',
  travel: 'train plane ticket hotel airport bus flight luggage station tourist visa passport road ship taxi',
  money: 'bank loan credit tax price salary debt account payment interest budget cash fund profit invoice',
};
/** Words that no example has. */
const strange = {
  animals: 'puppy kitten pony elephant monkey',
  food: 'sandwich tomato chocolate vegetable cream',
  travel: 'railway airline voyage passenger cruise',
  money: 'mortgage dollars income finance savings',
};

function learn(learner: Learner, count: number, random: () => number): void {
  const labels = Object.keys(topics) as (keyof typeof topics)[];
  for (let i = 0; i < count; i++) {
    const label = labels[i % labels.length] as keyof typeof topics;
    const words = topics[label].split(' ');
    const word = () => words[Math.floor(random() * words.length)];
    learner.learn(label, `I was asked about the ${word()} and a ${word()} today`);
  }
}

it('knows the meaning of new English words beyond few examples, also after a snapshot', () => {
  const random = createRandom(7);
  const learner = learners.create();
  learn(learner, 700, random);
  const restored = learners.restore(learner.toBytes());
  for (const one of [learner, restored]) learn(one, 100, createRandom(8));
  for (const [label, words] of Object.entries(strange)) {
    const text = `they talked about ${words}`;
    expect(learner.predict(text)[0]?.classId).toBe(label);
    expect(restored.predict(text)).toEqual(learner.predict(text));
  }
  expect(deserialize(restored.toBytes())).toEqual(deserialize(learner.toBytes()));
});
