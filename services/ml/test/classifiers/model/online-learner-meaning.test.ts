import { expect, it } from 'vitest';
import { createRandom } from '../../../../../tests/support/random.ts';
import type { Learner } from '../../../src/classifiers/learner.ts';
import { createLearners } from '../../../src/classifiers/model/online-learner.ts';
import { noPause, restored as restoredOf } from './restored.ts';

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

it('knows the meaning of new English words beyond few examples, also after a snapshot', async () => {
  const random = createRandom(7);
  const learner = learners.create();
  learn(learner, 700, random);
  const restored = await restoredOf(learners, learner);
  for (const one of [learner, restored]) learn(one, 100, createRandom(8));
  for (const [label, words] of Object.entries(strange)) {
    const text = `they talked about ${words}`;
    expect(learner.predict(text)[0]?.classId).toBe(label);
    expect(restored.predict(text)).toEqual(learner.predict(text));
  }
  expect(await restored.toState(noPause)).toEqual(await learner.toState(noPause));
});

/** Examples, and a text that shares 和 with those of food alone, so that without meanings all would be food. */
const chinese = {
  animals: ['我想养一只狗 那只猫很可爱 草原上有很多马 牛羊在吃草', '动物园里的大象和猴子'],
  food: ['我喜欢吃面包 这碗米饭很香 牛肉和土豆 奶酪蛋糕很甜', '巧克力和蔬菜的味道'],
  travel: ['火车几点开 飞机晚点了 在机场等航班 酒店离车站很近', '和乘客坐地铁去旅游'],
};

it('knows the meaning of new Chinese words with few examples, beside examples in English', () => {
  const learner = learners.create();
  learn(learner, 20, createRandom(9));
  for (const [label, [texts = '']] of Object.entries(chinese))
    for (const text of texts.split(' ')) learner.learn(`${label} in Chinese`, text);
  for (const [label, [, unseen = '']] of Object.entries(chinese))
    expect(learner.predict(unseen)[0]?.classId).toBe(`${label} in Chinese`);
  for (const [label, words] of Object.entries(strange))
    expect(learner.predict(`they talked about ${words}`)[0]?.classId).toBe(label);
});
