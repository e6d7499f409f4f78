/**
 * Prints, as JSON, digests of the snapshots of a classifier, and a prediction. It is a program because the bytes depend
 * on what a process did before: V8 writes a number as an integer or as a double, as it happens to keep it.
 */

import { createHash } from 'node:crypto';
import { createRandom } from '../../../../../tests/support/random.ts';
import type { Learner } from '../../../src/classifiers/learner.ts';
import { createLearners } from '../../../src/classifiers/model/online-learner.ts';
import { bytesOf, noPause, restored } from './restored.ts';

const learners = createLearners();

/** Phrases in English and Chinese, so that these texts have vectors. */
const phrases = ['my parcel is late', 'where is the invoice', '播放音乐', 'the engine makes a noise'];

/** Twelve topics with some words of their own among common words, in long and short texts, and some English ones. */
function* makeExamples(count: number, random: () => number): Generator<{ classId: string; text: string }> {
  const pick = (from: number, size: number) => `word${from + Math.floor(random() ** 2 * size)}`;
  for (let i = 0; i < count; i++) {
    const topic = Math.floor(random() * 12);
    const words = Array.from({ length: 4 + Math.floor(random() * 20) }, () =>
      random() < 0.2 ? pick(1_000 + topic * 100, 60) : pick(0, 500),
    );
    const text = random() < 0.3 ? `${phrases[topic % 4]} in town ${topic}` : words.join(' ');
    yield { classId: `topic ${topic}`, text };
  }
}

/** Leaves out V8's header of two bytes, which contains the version of its format. */
async function digestOf(learner: Learner): Promise<string> {
  return createHash('sha256')
    .update((await bytesOf(learner)).subarray(2))
    .digest('hex')
    .slice(0, 16);
}

const random = createRandom(17);
let learner = learners.create();
const digests: string[] = [];
async function learn(count: number): Promise<void> {
  for (const { classId, text } of makeExamples(count, random)) learner.learn(classId, text);
  digests.push(await digestOf(learner));
  learner = await restored(learners, learner);
}
await learn(150);
await learn(150);
await learn(500);
await learner.forget('topic 3', noPause);
await learn(400);
const predicted = learner.predict('word1000 word1010 word7').slice(0, 2);
process.stdout.write(JSON.stringify({ digests, predicted }));
