import { randomUUID } from 'node:crypto';
import { CallStop } from '@datahub/service-kit/call/call';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ClassifierLog } from '../../src/classifiers/classifier-log.ts';
import { type MlStore, openMlStore } from '../../src/store.ts';
import { addClassifiers, logDeps } from './log-deps.ts';

const all = { top: 1_000, signal: new CallStop() };
const job = { jobId: 'job', queryId: 'query' };
const rows = Array.from({ length: 900 }, (_, i) => ({
  id: String(i),
  label: `label ${i % 3}`,
  text: `word${i % 3} text ${i % 17}`,
}));

describe('rows of a query', () => {
  let store: MlStore;

  beforeEach(async () => {
    store = await openMlStore('sqlite::memory:', randomUUID);
    await addClassifiers(store, 'classifier', 'other');
  });
  afterEach(() => store.close());

  const create = (classifierId = 'classifier') => new ClassifierLog('account', classifierId, logDeps(store));
  const counts = (log: ClassifierLog, jobId = 'job') => log.read((state) => state.jobCounts(jobId));
  const classes = (log: ClassifierLog) =>
    log.read((state) =>
      [...state.classes.values()].map(({ label, observations }) => [label, observations]).sort(),
    );
  const predictions = async (log: ClassifierLog) =>
    (await log.predict(['word1', 'text 4 word0', 'text 9'], all)).map(({ scores }) =>
      scores.map(({ label, confidence }): (string | number)[] => [label, confidence]).sort(),
    );
  const rebuilt = (log: ClassifierLog) =>
    expect.poll(() => log.read(({ needsRebuild }) => needsRebuild)).toBe(false);

  it('are learnt once by two processes that send them at the same time', async () => {
    const [a, b] = [create(), create()];
    for (let at = 0; at < rows.length; at += 100) {
      const part = rows.slice(at, at + 100);
      await Promise.all([a.train(part, undefined, job), b.train(part, undefined, job)]);
    }
    const restarted = create();
    expect(await counts(restarted)).toEqual({ trained: 900, corrected: 0 });
    expect(await classes(restarted)).toEqual([0, 1, 2].map((i) => [`label ${i}`, 300]));
    await restarted.train(rows, undefined, { ...job, jobId: 'again' });
    expect(await counts(restarted, 'again')).toEqual({ trained: 0, corrected: 0 });
    await restarted.train(rows, undefined, { jobId: 'other', queryId: 'another' });
    expect(await counts(restarted, 'other')).toEqual({ trained: 900, corrected: 0 });
  });

  it('give the same model as in a single call', async () => {
    const [a, b, whole] = [create(), create(), create('other')];
    await a.train(rows.slice(0, 430), undefined, job);
    await b.train(rows.slice(0, 700), undefined, job);
    await a.train(rows, undefined, job);
    await whole.train(rows, undefined, job);
    expect(await predictions(create())).toEqual(await predictions(whole));
  });

  it('are corrected as if they had always been right', async () => {
    const [log, whole] = [create(), create('other')];
    const wrong = rows.map((row) => (Number(row.id) % 10 === 0 ? { ...row, label: 'label 2' } : row));
    await log.train(wrong, undefined, job);
    await log.train(rows, undefined, { ...job, jobId: 'again' });
    expect(await counts(log, 'again')).toEqual({ trained: 0, corrected: 60 });
    await rebuilt(log);
    expect(await classes(log)).toEqual([0, 1, 2].map((i) => [`label ${i}`, 300]));
    expect(await counts(log, 'again')).toEqual({ trained: 0, corrected: 60 });
    await whole.train(
      [
        ...wrong.filter(({ label }, i) => label === rows[i]?.label),
        ...rows.filter((row, i) => row.label !== wrong[i]?.label),
      ],
      undefined,
      job,
    );
    const confidenceOf = (found: (string | number)[][][]) =>
      found.flat().map(([label, confidence]) => [label, Math.round(Number(confidence) * 1e9)]);
    expect(confidenceOf(await predictions(log))).toEqual(confidenceOf(await predictions(whole)));
    expect(await predictions(create())).toEqual(await predictions(log));
    await log.train(rows, undefined, job);
    expect(await classes(log)).toEqual([0, 1, 2].map((i) => [`label ${i}`, 300]));
  });

  it('count with the last form that a call has of them, also if it is the one that was learnt before', async () => {
    const log = create();
    const of = (label: string) => ({ id: 'same', label, text: 'text' });
    await log.train([of('a')], undefined, job);
    await log.train([of('b'), of('a')], undefined, job);
    expect(await classes(log)).toEqual([
      ['a', 1],
      ['b', 0],
    ]);
    await log.train([of('a')], undefined, { ...job, jobId: 'again' });
    expect(await counts(log, 'again')).toEqual({ trained: 0, corrected: 0 });
    await rebuilt(log);
  });

  it('count again after their class was deleted', async () => {
    const log = create();
    await log.train(rows, undefined, job);
    const classId = await log.read((state) => state.classIdOf('label 1'));
    await log.deleteClass(classId ?? '');
    await rebuilt(log);
    await log.train(rows, undefined, { ...job, jobId: 'again' });
    expect(await counts(log, 'again')).toEqual({ trained: 300, corrected: 0 });
    expect(Object.fromEntries(await classes(log))).toEqual({
      'label 0': 300,
      'label 1': 300,
      'label 2': 300,
    });
  });
});
