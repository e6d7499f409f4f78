import { randomUUID } from 'node:crypto';
import { CallStop } from '@datahub/service-kit/call/call';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ClassifierLog } from '../../src/classifiers/classifier-log.ts';
import { changeExample } from '../../src/classifiers/example-changes.ts';
import { readExamples, type StoredExample, toPlace } from '../../src/classifiers/examples.ts';
import type { TrainExample } from '../../src/classifiers/train-batch.ts';
import { type MlStore, openMlStore } from '../../src/store.ts';
import { logDeps } from './log-deps.ts';

const accountId = 'account';
const classifierId = 'dh.clfr.0123456789abcdef';
const classifier = { accountId, classifierId };

/** Texts of three topics, in three calls. */
const examples: TrainExample[] = Array.from({ length: 90 }, (_, i) => ({
  label: `label ${i % 3}`,
  text: `word${i % 3} and text ${i % 17}, number ${i}`,
}));

describe('a changed example', () => {
  let store: MlStore;
  beforeEach(async () => {
    store = await openMlStore('sqlite::memory:', randomUUID);
  });
  afterEach(() => store.close());

  const create = (id = classifierId) =>
    new ClassifierLog(accountId, id, {
      ...logDeps(store),
      // The store can close while a log is learned again.
      onFailure: () => {},
    });

  const trained = async (): Promise<ClassifierLog> => {
    const log = create();
    for (let i = 0; i < examples.length; i += 30) await log.train(examples.slice(i, i + 30));
    return log;
  };
  const list = (limit = 1_000, after?: string) =>
    readExamples(store, classifier, {
      after: after === undefined ? undefined : toPlace(after, classifierId),
      limit,
      isListed: ({ classId }) => classId !== '',
      isWhole: () => false,
    });
  const change = (log: ClassifierLog, at: StoredExample, to?: { label?: string; text?: string }) =>
    changeExample(log, logDeps(store), {
      classifier,
      place: toPlace(at.exampleId, classifierId),
      correction: to && { label: to.label, text: to.text },
      expected: {},
    });
  const figuresOf = async (log: ClassifierLog) => {
    await expect.poll(() => log.read(({ needsRebuild }) => needsRebuild)).toBe(false);
    const predictions = await log.predict(['word1 and', 'text 4', 'word0 text 2'], {
      top: 10,
      signal: new CallStop(),
    });
    return {
      scores: predictions.map(({ scores }) => scores.map(({ label, confidence }) => [label, confidence])),
      ...(await log.read(({ classes, evaluation }) => ({
        classes: [...classes.values()].map(({ label, observations }) => [label, observations]),
        evaluated: [evaluation.figures.examples, evaluation.figures.accuracy],
        curve: evaluation.curve,
      }))),
    };
  };

  it('holds the event of one classifier of an account at a time', async () => {
    let [held, most] = [0, 0];
    const events: MlStore['events'] = {
      ...store.events,
      replace: async (...args) => {
        most = Math.max(most, ++held);
        await new Promise((resolve) => setTimeout(resolve, 5));
        held--;
        return store.events.replace(...args);
      },
    };
    const changes = Array.from({ length: 5 }, async (_, i) => {
      const one = { accountId, classifierId: `dh.clfr.0123456789abcde${i}` };
      const log = create(one.classifierId);
      await log.train(examples.slice(0, 3));
      const place = { event: 1, index: 0 };
      const deps = { ...logDeps(store), store: { ...store, events } };
      await changeExample(log, deps, { classifier: one, place, correction: undefined, expected: {} });
    });
    await Promise.all(changes);
    expect(most).toBe(1);
  });

  it('gives the same model as if it had been trained in its new form, in every process', async () => {
    const [a, b] = [await trained(), create()];
    await b.read(() => {});
    const listed = (await list()).examples;
    await change(a, listed[4] as StoredExample, { label: 'label 2' });
    await change(b, listed[40] as StoredExample, { text: 'another text' });
    await change(a, listed[40] as StoredExample, { label: 'label 0' });
    await change(b, listed[89] as StoredExample);
    // The counts change at once.
    const counts = [31, 28, 30];
    expect(await a.read(({ classes }) => [...classes.values()].map((one) => one.observations))).toEqual(
      counts,
    );
    const plain = create('dh.clfr.plain');
    const wanted = examples.with(4, { label: 'label 2', text: examples[4]?.text ?? '' });
    await plain.train(wanted.with(40, { label: 'label 0', text: 'another text' }).slice(0, 89));
    const expected = await figuresOf(plain);
    for (const log of [a, b, create()]) expect(await figuresOf(log)).toEqual(expected);
    const labels = (await list()).examples.map(({ text }) => text);
    expect(labels).toHaveLength(89);
    expect(labels[40]).toBe('another text');
    for (const events of [await store.events.find({ accountId, limit: 100 })])
      expect(JSON.stringify(events)).not.toContain('number 40');
  });

  it('is not lengthened beyond what one call can train, because its event is read and written at once', async () => {
    const a = await trained();
    const listed = (await list()).examples;
    const long = '\u6c49'.repeat(1_300_000);
    await change(a, listed[0] as StoredExample, { text: long });
    await change(a, listed[1] as StoredExample, { text: long });
    await expect(change(a, listed[2] as StoredExample, { text: long })).rejects.toMatchObject({
      code: 'TOO_LARGE',
    });
    expect((await list(3)).examples[2]?.text).toBe(examples[2]?.text);
    await change(a, listed[2] as StoredExample, { label: 'another' });
    await change(a, listed[0] as StoredExample, { text: 'short' });
    await change(a, listed[2] as StoredExample, { text: long });
  });

  it('can get a new label', async () => {
    const a = await trained();
    const [first, second] = (await list()).examples as [StoredExample, StoredExample];
    expect(await change(a, first, { label: 'new' })).toMatchObject({ text: first.text });
    await change(a, second, { label: 'new', text: 'new words' });
    for (const log of [a, create()]) {
      const { classes } = await figuresOf(log);
      expect(new Map(classes as [string, number][])).toEqual(
        new Map([
          ['label 0', 29],
          ['label 1', 29],
          ['label 2', 30],
          ['new', 2],
        ]),
      );
    }
    expect(await a.train([{ label: 'new', text: 'more' }])).toMatchObject([{ observations: 3 }]);
  });

  it('does nothing if nothing changes, and is not found once it is deleted', async () => {
    const a = await trained();
    const [first, , , , , , last] = (await list()).examples as [StoredExample, ...StoredExample[]];
    const version = await a.read((state) => state.version);
    await change(a, first, { label: 'label 0', text: first.text });
    expect(await a.read((state) => state.version)).toBe(version);
    await change(a, first);
    await expect(change(a, first)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(change(a, first, { label: 'x' })).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(await a.read((state) => state.version)).toBe(version + 1);
    expect(() => toPlace(last?.exampleId ?? '', 'dh.clfr.other')).toThrow('There is no such example.');
    for (const unknown of ['9.0.6789abcdef', '1.99.6789abcdef'])
      await expect(change(a, { ...first, exampleId: unknown })).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('is learned from a version of the event that no event of the log records yet', async () => {
    const [a, b] = [await trained(), create()];
    await b.read(() => {});
    const [first] = (await list()).examples as [StoredExample];
    // The process ends before the second write.
    const [event] = await store.events.find({ accountId, limit: 1 });
    const calls = structuredClone(event?.calls ?? []);
    (calls[0]?.examples[0] as { text: string }).text = 'corrected';
    await store.events.replace({ ...(event as NonNullable<typeof event>), calls, version: 2 });
    await change(a, first, { text: 'corrected' });
    const plain = create('dh.clfr.plain');
    await plain.train(examples.with(0, { label: 'label 0', text: 'corrected' }));
    const expected = await figuresOf(plain);
    for (const log of [a, b, create()]) expect(await figuresOf(log)).toEqual(expected);
  });

  it('is refused if it is a row of a query, which is listed in the form that was learned last', async () => {
    const a = create();
    const job = { jobId: 'job', queryId: 'query' };
    await a.train([{ label: 'tea', text: 'green tea', id: '1' }], undefined, job);
    await a.train([{ label: 'tea', text: 'black tea', id: '1' }], undefined, job);
    const state = await a.read((state) => state);
    const { examples } = await readExamples(store, classifier, {
      after: undefined,
      limit: 10,
      isWhole: (listed) => listed === 1,
      isListed: ({ row, ...one }, place) => row === undefined || state.isLatest(row, one, place),
    });
    expect(examples.map(({ text }) => text)).toEqual(['black tea']);
    for (const to of [undefined, { label: 'x' }])
      await expect(change(a, examples[0] as StoredExample, to)).rejects.toMatchObject({ code: 'CONFLICT' });
  });

  it('is listed page by page', async () => {
    await trained();
    const found: string[] = [];
    let page = await list(7);
    for (; ; page = await list(7, page.next)) {
      found.push(...page.examples.map(({ text }) => text));
      if (page.next === undefined) break;
      expect(page.examples).toHaveLength(7);
    }
    expect(found).toEqual(examples.map(({ text }) => text));
  });
});
