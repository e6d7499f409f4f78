import { hash, randomUUID } from 'node:crypto';
import { CallStop } from '@datahub/service-kit/call/call';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ClassifierLog } from '../../src/classifiers/classifier-log.ts';
import { type MlStore, openMlStore } from '../../src/store.ts';
import { addClassifiers, logDeps } from './log-deps.ts';
import { inOneValue, readSnapshot } from './snapshots.ts';

const all = { top: 1_000, signal: new CallStop() };

describe('the processes of one classifier', () => {
  let store: MlStore;

  beforeEach(async () => {
    store = await openMlStore('sqlite::memory:', randomUUID);
    await addClassifiers(store, 'classifier');
  });
  afterEach(() => store.close());

  const create = (classesMax?: number, over = store) =>
    new ClassifierLog('account', 'classifier', {
      ...logDeps(over),
      ...(classesMax === undefined ? {} : { classesMax }),
    });

  /** A log of 700 examples, and the snapshot that it has stored. */
  async function trainToSnapshot() {
    const a = create();
    await a.train(
      Array.from({ length: 700 }, (_, i) => ({ label: `label ${i % 3}`, text: `text ${i % 5}` })),
    );
    const snapshot = () => store.snapshots.get('account', 'classifier');
    await expect.poll(snapshot).not.toBeNull();
    return { a, stored: await readSnapshot((await snapshot()) as Uint8Array) };
  }

  it('predict with examples that another process has just learnt', async () => {
    const [a, b] = [create(), create()];
    const [first] = await a.train([{ label: 'tea', text: 'green tea' }]);
    await b.train([{ label: 'coffee', text: 'black coffee' }]);
    const [prediction] = await a.predict(['coffee'], all);
    expect(prediction?.scores.map(({ label }) => label)).toEqual(['coffee', 'tea']);
    expect(await b.train([{ label: 'tea', text: 'more tea' }])).toEqual([
      { classId: first?.classId, observations: 2 },
    ]);
  });

  it('learn every example of concurrent calls exactly once', async () => {
    const logs = [create(), create(), create()];
    await Promise.all(
      Array.from({ length: 300 }, (_, i) =>
        (logs[i % 3] as ClassifierLog).train([{ label: `label ${i % 7}`, text: `text ${i}` }]),
      ),
    );
    for (const log of logs) {
      const classes = await log.read((state) => [...state.classes.values()]);
      expect(classes).toHaveLength(7);
      expect(classes.reduce((sum, { observations }) => sum + observations, 0)).toBe(300);
    }
  });

  it('learn a repeated event id once, in any process', async () => {
    const [a, b] = [create(), create()];
    const first = await a.train([{ label: 'tea', text: 'green tea' }], 'event-1');
    expect(await b.train([{ label: 'tea', text: 'green tea' }], 'event-1')).toEqual(first);
    expect(await a.read(({ classes }) => [...classes.values()][0]?.observations)).toBe(1);
  });

  it('learn a call with an Idempotency-Key once, also when its results are no longer stored', async () => {
    const id = hash('sha256', 'a key', 'base64url');
    const tea = [{ label: 'tea', text: 'green tea' }];
    const a = create();
    await a.train(tea, id);
    const others = await Promise.all(Array.from({ length: 1_001 }, () => a.train(tea)));
    expect(others.map((results) => results[0]?.observations)).toEqual(others.map((_, i) => i + 2));
    await a.train(tea);
    await expect.poll(() => store.snapshots.get('account', 'classifier')).not.toBeNull();
    for (const log of [a, create()]) {
      await expect(log.train(tea, id)).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' });
      expect(await log.read(({ classes }) => [...classes.values()][0]?.observations)).toBe(1_003);
    }
  });

  it('count a label of an earlier version that is not composed as the same class', async () => {
    const log = create();
    const [first] = await log.train([{ label: 'cafe\u0301', text: 'espresso' }]);
    const [second] = await log.train([{ label: 'caf\u00e9', text: 'latte' }]);
    expect(second).toEqual({ classId: first?.classId, observations: 2 });
    const [third] = await create().train([{ label: 'caf\u00e9', text: 'mocha' }]);
    expect(third).toEqual({ classId: first?.classId, observations: 3 });
  });

  it('recognize recent calls up to a number of results, and always the last one', {
    timeout: 60_000,
  }, async () => {
    const a = create();
    const many = Array.from({ length: 22_000 }, () => ({ label: 'tea', text: '' }));
    const remembered = (ids: string[]) =>
      a.read((state) => ids.filter((id) => state.resultOf(id) !== undefined));
    await a.train(many.slice(0, 12_000), 'first');
    await a.train(many.slice(0, 5_000), 'second');
    expect(await remembered(['first', 'second'])).toEqual(['first', 'second']);
    await a.train(many.slice(0, 8_000), 'third');
    expect(await remembered(['first', 'second', 'third'])).toEqual(['second', 'third']);
    await a.train(many, 'large');
    expect(await remembered(['second', 'third', 'large'])).toEqual(['large']);
  });

  it('reject a call with too many new labels, and learn concurrent calls', async () => {
    const log = create(3);
    const call = (...labels: string[]) => log.train(labels.map((label) => ({ label, text: label })));
    const calls = [call('a', 'b'), call('c', 'd', 'a'), call('a', 'c'), call('e'), call('b')];
    const ended = await Promise.allSettled(calls);
    const words = ended.map((one) => (one.status === 'rejected' ? one.reason.code : one.value.length));
    expect(words).toEqual([2, 'QUOTA_EXCEEDED', 2, 'QUOTA_EXCEEDED', 1]);
    const classes = await log.read((state) => [...state.classes.values()]);
    const learnt = classes.map(({ label, observations }) => [label, observations]);
    expect(learnt).toEqual([
      ['a', 2],
      ['b', 2],
      ['c', 1],
    ]);
    await log.deleteClass(classes[2]?.classId ?? '');
    expect(await call('e')).toHaveLength(1);
    await expect(call('f')).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' });
    // Keep the store open until the state is rebuilt.
    await expect.poll(() => log.read(({ needsRebuild }) => needsRebuild)).toBe(false);
  });

  it('do not learn a rejected call when another process makes room during the append', async () => {
    const other = create(2);
    const [first] = await other.train([
      { label: 'a', text: 'a' },
      { label: 'b', text: 'b' },
    ]);
    let conflicts = 0;
    const insert: typeof store.events.insert = async (event) => {
      if (conflicts++ === 0) await other.deleteClass(first?.classId ?? '');
      return store.events.insert(event);
    };
    const log = create(2, { ...store, events: { ...store.events, insert } });
    const calls = [log.train([{ label: 'c', text: 'c' }]), log.train([{ label: 'b', text: 'more b' }])];
    const [rejected] = await Promise.allSettled(calls);
    expect(rejected).toMatchObject({ status: 'rejected', reason: { code: 'QUOTA_EXCEEDED' } });
    expect(conflicts).toBe(2);
    expect(await log.read(({ classes }) => [...classes.values()].map(({ label }) => label))).toEqual(['b']);
    for (const one of [log, other]) {
      await expect.poll(() => one.read(({ needsRebuild }) => needsRebuild)).toBe(false);
    }
  });

  it('delete a class everywhere, and create a new class if its label is trained again', async () => {
    const [a, b] = [create(), create()];
    const [old] = await a.train([{ label: 'tea', text: 'green tea' }]);
    await a.train([{ label: 'coffee', text: 'black coffee' }]);
    await b.deleteClass(old?.classId ?? '');
    const [prediction] = await a.predict(['green tea'], all);
    expect(prediction?.scores.map(({ label }) => label)).toEqual(['coffee']);
    await expect(a.deleteClass(old?.classId ?? '')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    const [fresh] = await a.train([{ label: 'tea', text: 'green tea' }]);
    expect(fresh).toEqual({ classId: expect.not.stringMatching(`^${old?.classId}$`), observations: 1 });
    // Keep the store open until both have rebuilt their state.
    for (const log of [a, b]) {
      await expect.poll(() => log.read(({ needsRebuild }) => needsRebuild)).toBe(false);
    }
  });

  it('restore the same state from snapshot and log', async () => {
    const a = create();
    const examples = Array.from({ length: 2_500 }, (_, i) => ({
      label: `label ${i % 5}`,
      text: `word${i % 5} text ${i}`,
    }));
    await a.train(examples.slice(0, 2_400));
    await a.train(examples.slice(2_400));
    await expect.poll(() => store.snapshots.get('account', 'classifier')).not.toBeNull();
    const b = create();
    expect(await b.predict(['word3'], all)).toEqual(await a.predict(['word3'], all));
    expect(await b.read(({ classes }) => [...classes.values()])).toEqual(
      await a.read(({ classes }) => [...classes.values()]),
    );
  });

  it('predict after a class was deleted as if it had never been trained', async () => {
    const examples = Array.from({ length: 120 }, (_, i) => ({
      label: `label ${i % 3}`,
      text: `word${i % 3} and text ${i % 17}`,
    }));
    const a = create();
    const [first] = await a.train(examples);
    await a.deleteClass(first?.classId ?? '');
    const b = new ClassifierLog('account', 'other', logDeps(store));
    await b.train(examples.filter(({ label }) => label !== 'label 0'));
    const confidences = async (log: ClassifierLog) =>
      (await log.predict(['word1 and', 'word2 text 4', 'word0'], all))
        .flatMap(({ scores }) => scores)
        .map(({ label, confidence }) => [label, Math.round(confidence * 1e9)]);
    await expect.poll(() => a.read(({ needsRebuild }) => needsRebuild)).toBe(false);
    expect(await confidences(a)).toEqual(await confidences(b));
    expect(await a.train([{ label: 'label 0', text: 'word0' }])).toMatchObject([{ observations: 1 }]);
  });

  it('let other calls run while they learn thousands of calls with one example each again', async () => {
    const a = create();
    for (let i = 0; i < 2_000; i++)
      await a.train([{ label: `label ${i % 3}`, text: `word${i % 3} text ${i}` }]);
    const [gone] = await a.read((state) => [...state.classes.keys()]);
    await a.deleteClass(gone ?? '');
    for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
    expect(await a.read(({ needsRebuild }) => needsRebuild)).toBe(true);
    await expect.poll(() => a.read(({ needsRebuild }) => needsRebuild), { timeout: 60_000 }).toBe(false);
  });

  it('stop learning again when the classifier is deleted meanwhile', async () => {
    const a = create();
    for (let i = 0; i < 500; i++)
      await a.train([{ label: `label ${i % 3}`, text: `word${i % 3} text ${i}` }]);
    const [gone] = await a.read((state) => [...state.classes.keys()]);
    await a.deleteClass(gone ?? '');
    while (
      (await store.events.deleteMany({ accountId: 'account', idPrefix: 'classifier/', limit: 500 })) > 0
    );
    const { findSummaries } = store.events;
    let reads = 0;
    store.events.findSummaries = (page) => {
      // Without this bound a failure would never end: with SQLite no read lets the event loop go on.
      if (++reads > 100) return Promise.reject(new Error('It reads the log of a deleted classifier.'));
      return findSummaries.call(store.events, page);
    };
    for (let turn = 0; turn < 200; turn++) await new Promise(setImmediate);
    expect(reads).toBeLessThan(20);
  });

  it('evaluate after a class was deleted as if it had never been trained, also after a restart', async () => {
    const examples = Array.from({ length: 700 }, (_, i) => ({
      label: `label ${i % 3}`,
      text: `word${(i * 7) % 5} and text ${i % 17}`,
    }));
    const a = create();
    const [gone] = await a.train(examples);
    await a.deleteClass(gone?.classId ?? '');
    const examplesOf = (log: ClassifierLog) => log.read(({ evaluation }) => evaluation.figures.examples);
    expect(await examplesOf(a)).toBeLessThan(468);
    await expect.poll(() => a.read(({ needsRebuild }) => needsRebuild)).toBe(false);
    const read = (log: ClassifierLog) =>
      log.read(({ evaluation: { figures, recentFigures, curve } }) => ({ figures, recentFigures, curve }));
    const own = await read(a);
    expect(own).toMatchObject({ figures: { examples: 465 }, recentFigures: { examples: 465 } });
    expect(own.figures.classes.map(({ support }) => support)).toEqual([233, 232]);
    expect(own.curve.map(({ examples }) => examples)).toEqual([10, 20, 30, 50, 100, 200, 300, 465]);
    expect(await read(create())).toEqual(own);
  });

  it('have one learning curve, also after a restart', async () => {
    const examples = Array.from({ length: 700 }, (_, i) => ({
      label: `label ${i % 3}`,
      text: `word${(i * 7) % 3} and text ${i % 17}`,
    }));
    const curve = (log: ClassifierLog) => log.read(({ evaluation }) => evaluation.curve);
    const [a, b] = [create(), create()];
    for (let i = 0; i < 700; i += 7) await a.train(examples.slice(i, i + 7));
    const own = await curve(a);
    expect(own.map(({ examples }) => examples)).toEqual([10, 20, 30, 50, 100, 200, 300, 500, 699]);
    expect(own[0]?.accuracy).toBeLessThan(own[8]?.accuracy ?? 0);
    const sum = own.reduce((total, { window, accuracy }) => total + window * accuracy, 0);
    const { accuracy = 0 } = await a.read(({ evaluation }) => evaluation.figures);
    expect(sum).toBeCloseTo(699 * accuracy, 6);
    for (const log of [b, create()]) expect(await curve(log)).toEqual(own);
  });

  it.each([
    ['lacks', {}],
    ['has a part of', { curve: [[10, 3, 2]] }],
  ])('learn the log again for a snapshot that %s the curve', async (_name, part) => {
    const { a, stored } = await trainToSnapshot();
    delete stored.evaluation.curve;
    const old = { ...stored, evaluation: { ...stored.evaluation, ...part } };
    await store.snapshots.put('account', 'classifier', inOneValue(old));
    const b = create();
    const curve = (log: ClassifierLog) => log.read(({ evaluation }) => evaluation.curve);
    expect(await b.predict(['text 1'], all)).toEqual(await a.predict(['text 1'], all));
    const whole = await curve(a);
    expect(whole).not.toEqual([]);
    await expect.poll(() => curve(b)).toEqual(whole);
  });

  it('ignore a snapshot of another format, and learn the log', async () => {
    const { a, stored } = await trainToSnapshot();
    await store.snapshots.put('account', 'classifier', inOneValue({ ...stored, format: 3, applied: 0 }));
    const b = create();
    expect(await b.predict(['text 1'], all)).toEqual(await a.predict(['text 1'], all));
    const figures = (log: ClassifierLog) => log.read(({ evaluation }) => evaluation.figures);
    expect(await figures(b)).toEqual(await figures(a));
  });

  it('reject a prediction before any training', async () => {
    await expect(create().predict(['x'], all)).rejects.toMatchObject({ code: 'NOT_TRAINED' });
  });
});
