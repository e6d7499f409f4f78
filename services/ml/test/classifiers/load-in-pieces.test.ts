import { randomUUID } from 'node:crypto';
import { CallStop } from '@datahub/service-kit/call/call';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ClassifierLog } from '../../src/classifiers/classifier-log.ts';
import { createTimeSlices, type TimeSlices } from '../../src/scheduling/time-slices.ts';
import { type MlStore, openMlStore } from '../../src/store.ts';
import { addClassifiers, logDeps } from './log-deps.ts';

const all = { top: 1_000, signal: new CallStop() };

/** Slices that end at once: work pauses wherever it may, and each pause is counted. */
function createShortSlices(): { slices: TimeSlices; pauses: () => number } {
  const slices = createTimeSlices();
  let pauses = 0;
  const of: TimeSlices['of'] = (...args) => {
    const work = slices.of(...args);
    const next = async () => {
      pauses++;
      await work.next();
      short.endsAt = 0;
    };
    const short = { endsAt: 0, next };
    return short;
  };
  return { slices: { ...slices, of }, pauses: () => pauses };
}

const examples = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => {
    const number = from + i;
    const words = Array.from({ length: 12 }, (_, k) => `word${(number * 131 + k * 977) % 5_003}`);
    return { label: `label ${number % 300}`, text: words.join(' ') };
  });
const rows = (from: number, to: number) =>
  examples(from, to).map((one, i) => ({ ...one, id: `row ${from + i}` }));
const job = { jobId: 'job', queryId: 'query' };

it('learns a long text in steps, between which other calls may run', async () => {
  const store = await openMlStore('sqlite::memory:', randomUUID);
  await addClassifiers(store, 'classifier');
  const { slices, pauses } = createShortSlices();
  const log = new ClassifierLog('account', 'classifier', { ...logDeps(store), slices });
  const text = Array.from({ length: 20_000 }, (_, i) => String.fromCharCode(0x4e00 + ((i * 7_919) % 20_000)));
  await log.train([{ label: 'one', text: text.join('') }]);
  const before = pauses();
  await log.train([{ label: 'another', text: text.toReversed().join('') }], undefined, job);
  expect(pauses() - before).toBeGreaterThan(8);
  await store.close();
});

describe('a classifier that was evicted', () => {
  let store: MlStore;

  beforeEach(async () => {
    store = await openMlStore('sqlite::memory:', randomUUID);
    await addClassifiers(store, 'classifier');
  });
  afterEach(() => store.close());

  const open = (slices = createTimeSlices()) =>
    new ClassifierLog('account', 'classifier', { ...logDeps(store), slices });

  const view = async (log: ClassifierLog) => ({
    predictions: await log.predict(['word7 word131', 'word977', 'none of them'], all),
    state: await log.read((state) => ({
      classes: [...state.classes.values()],
      evaluation: structuredClone(state.evaluation.state),
      examples: state.examples,
      rows: state.rowCount,
      counts: state.jobCounts('job'),
      version: state.version,
    })),
  });

  /** Trains until a snapshot is stored, and then a few more examples, which only the log has. */
  async function trainOver(log: ClassifierLog) {
    await log.train(examples(0, 700));
    await log.train(rows(700, 1_500), undefined, job);
    await expect.poll(() => store.snapshots.get('account', 'classifier')).not.toBeNull();
    await log.train(examples(1_500, 1_520));
  }

  it('is loaded, and stored, in many turns of the event loop', { timeout: 120_000 }, async () => {
    const { slices, pauses } = createShortSlices();
    const kept = open(slices);
    await trainOver(kept);
    const learnt = pauses();
    const restarted = open(slices);
    expect(await restarted.read(({ examples }) => examples)).toBe(1_520);
    // Without pieces there would be one for each of the 20 examples that are learnt from the log.
    expect(pauses() - learnt).toBeGreaterThan(200);
    expect(await view(restarted)).toEqual(await view(kept));
    const loaded = pauses();
    const state = await restarted.read((one) => one);
    await state.toBytes(() => slices.of('account').next());
    expect(pauses() - loaded).toBeGreaterThan(100);
  });

  it('learns what was trained while it was loaded, and answers as if it had never left', {
    timeout: 120_000,
  }, async () => {
    const kept = open();
    await trainOver(kept);
    const expected = await kept.predict(['word7'], all);
    const restarted = open(createShortSlices().slices);
    const calls = [
      restarted.predict(['word7'], all),
      restarted.train(examples(1_520, 1_530)),
      restarted.train(rows(690, 710), undefined, job),
      restarted.read(({ examples }) => examples),
      restarted.train([{ label: 'a new label', text: 'new words' }]),
    ];
    const [before, own, ofRows, count, fresh] = await Promise.all(calls);
    expect(before).toEqual(expected);
    expect(own).toHaveLength(10);
    expect(ofRows).toEqual([]);
    expect(count).toBe(1_520 + 10 + 10 + 1);
    expect(fresh).toEqual([{ classId: expect.anything(), observations: 1 }]);
    expect(await view(restarted)).toEqual(await view(kept));
    expect(await view(open())).toEqual(await view(kept));
  });
});
