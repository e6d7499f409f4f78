import { randomUUID } from 'node:crypto';
import { CallStop } from '@datahub/service-kit/call/call';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ClassifierLog } from '../../src/classifiers/classifier-log.ts';
import { createLearners } from '../../src/classifiers/model/online-learner.ts';
import { topDefault } from '../../src/classifiers/predict-bounds.ts';
import { type MlStore, openMlStore } from '../../src/store.ts';
import { logDeps } from './log-deps.ts';

const learners = createLearners();

const classCount = 1_200;

describe('predictions of a classifier with many classes', () => {
  let store: MlStore;
  let log: ClassifierLog;
  let computed = 0;
  const never = new CallStop();

  beforeAll(async () => {
    store = await openMlStore('sqlite::memory:', randomUUID);
    log = new ClassifierLog('account', 'classifier', {
      ...logDeps(store),
      learners: {
        ...learners,
        create: () => {
          const learner = learners.create();
          const { predict } = learner;
          learner.predict = (text, top) => {
            computed++;
            return predict.call(learner, text, top);
          };
          return learner;
        },
      },
    });
    const examples = Array.from({ length: classCount }, (_, i) => ({ label: `${i}`, text: `word${i} both` }));
    await log.train(examples);
  });
  afterAll(() => store.close());

  it('contain the best classes, and the sum of the others', async () => {
    const [[best], [all]] = [
      await log.predict(['word7'], { top: topDefault, signal: never }),
      await log.predict(['word7'], { top: classCount, signal: never }),
    ];
    expect(best?.scores).toEqual(all?.scores.slice(0, topDefault));
    const sum = best?.scores.reduce((total, { confidence }) => total + confidence, 0) ?? 0;
    expect(sum + (best?.otherScore ?? 0)).toBeCloseTo(1, 9);
    expect(best?.otherScore).toBeGreaterThan(0);
    expect(all).toMatchObject({ otherScore: 0, scores: { length: classCount } });
  });

  it.each([
    ['contexts times classes', 1_000, 1, /1000000\. Send at most 833 contexts/],
    ['contexts times scores', 21, 1_000, /20000\. Send at most 20 contexts/],
  ])('are rejected over the limit on %s, before any is computed', async (_name, contexts, top, message) => {
    computed = 0;
    const texts = Array.from({ length: contexts }, () => 'a');
    await expect(log.predict(texts, { top, signal: never })).rejects.toMatchObject({
      code: 'LIMIT_EXCEEDED',
      message: expect.stringMatching(message),
    });
    expect(computed).toBe(0);
  });

  it('stop when the client disconnects, so that the next call runs', async () => {
    computed = 0;
    const caller = new CallStop();
    const texts = Array.from({ length: 800 }, () => 'word7');
    const long = log.predict(texts, { top: 1, signal: caller });
    const behind = log.predict(texts, { top: 1, signal: caller });
    const next = log.predict(['word8'], { top: 1, signal: never });
    setImmediate(() => caller.abort(new Error('gone')));
    await expect(long).rejects.toMatchObject({ code: 'CANCELLED' });
    await expect(behind).rejects.toMatchObject({ code: 'CANCELLED' });
    await expect(next).resolves.toMatchObject([{ scores: [{ label: '8' }] }]);
    expect(computed).toBeLessThan(texts.length);
  });
});
