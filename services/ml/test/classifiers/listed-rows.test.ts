import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ClassifierLog } from '../../src/classifiers/classifier-log.ts';
import { readExamples, toPlace } from '../../src/classifiers/examples.ts';
import { type MlStore, openMlStore } from '../../src/store.ts';
import { addClassifiers, logDeps } from './log-deps.ts';
import { inOneValue, readSnapshot } from './snapshots.ts';

const accountId = 'account';
const classifierId = 'dh.clfr.0123456789abcdef';
const job = { jobId: 'job', queryId: 'query' };
const rowsOf = (from: number, to: number, label?: string) =>
  Array.from({ length: to - from }, (_, i) => ({
    id: String(from + i),
    label: label ?? `label ${(from + i) % 3}`,
    text: `text ${from + i}`,
  }));

describe('a row of a query is listed once, where it was learnt last', () => {
  let store: MlStore;
  let log: ClassifierLog;

  const create = () => new ClassifierLog(accountId, classifierId, logDeps(store));
  beforeEach(async () => {
    store = await openMlStore('sqlite::memory:', randomUUID);
    await addClassifiers(store, classifierId);
    log = create();
  });
  afterEach(() => store.close());

  const rebuilt = (one: ClassifierLog) =>
    expect.poll(() => one.read(({ needsRebuild }) => needsRebuild)).toBe(false);

  /** All pages, and the total that the classes count. */
  const list = async (one: ClassifierLog, limit = 1_000) => {
    const state = await one.read((state) => state);
    const listed: string[] = [];
    for (let next: string | undefined = ''; next !== undefined; ) {
      const page = await readExamples(
        store,
        { accountId, classifierId },
        {
          after: next === '' ? undefined : toPlace(next, classifierId),
          limit,
          isWhole: (count) => count === state.examples,
          isListed: ({ row, ...example }, place) =>
            state.classes.has(example.classId) && (row === undefined || state.isLatest(row, example, place)),
        },
      );
      for (const { text, classId } of page.examples)
        listed.push(`${text}: ${state.classes.get(classId)?.label}`);
      next = page.next;
    }
    expect(listed).toHaveLength(state.examples);
    return listed;
  };
  const labelled = (rows: { text: string; label: string }[]) =>
    rows.map((row) => `${row.text}: ${row.label}`);

  const correctAndCorrectBack = async () => {
    await log.train(rowsOf(0, 12), undefined, job);
    for (const label of ['Z', undefined, 'Z', undefined])
      await log.train(rowsOf(0, 2, label), undefined, job);
    await log.train([{ label: 'label 0', text: 'direct' }]);
    await log.train(rowsOf(12, 14), undefined, job);
  };
  const expected = [...labelled(rowsOf(2, 12)), ...labelled(rowsOf(0, 2)), 'direct: label 0'];

  it('after it was corrected and corrected back, in every process, before and after a rebuild', async () => {
    await correctAndCorrectBack();
    const all = [...expected, ...labelled(rowsOf(12, 14))];
    expect(await list(log)).toEqual(all);
    await rebuilt(log);
    for (const one of [log, create()])
      for (const limit of [1_000, 15, 3]) expect(await list(one, limit)).toEqual(all);
    await log.train(rowsOf(0, 1, 'Z'), undefined, job);
    await rebuilt(log);
    expect(await list(log)).toEqual([...all.filter((one) => one !== 'text 0: label 0'), 'text 0: Z']);
  });

  it('after its later class was deleted', async () => {
    await log.train(rowsOf(0, 3), undefined, job);
    await log.train(rowsOf(0, 1, 'Z'), undefined, job);
    await log.deleteClass((await log.read((state) => state.classIdOf('Z'))) ?? '');
    expect(await list(log)).toEqual(labelled(rowsOf(1, 3)));
    await log.train(rowsOf(0, 1), undefined, job);
    for (const one of [log, create()]) {
      await rebuilt(one);
      expect(await list(one)).toEqual(labelled([...rowsOf(1, 3), ...rowsOf(0, 1)]));
    }
  });

  it('if several jobs send it in one event', async () => {
    await Promise.all(
      ['Z', undefined, 'Z', undefined].map((label, i) =>
        log.train(rowsOf(0, 2, label), undefined, { ...job, jobId: `job ${i}` }),
      ),
    );
    await rebuilt(log);
    for (const one of [log, create()]) expect((await list(one)).sort()).toEqual(labelled(rowsOf(0, 2)));
  });

  it('after a snapshot of a version that did not know the places', async () => {
    await correctAndCorrectBack();
    await rebuilt(log);
    const bytes = await store.snapshots.get(accountId, classifierId);
    const snapshot = await readSnapshot(bytes as Uint8Array);
    const { slots } = snapshot.known;
    const narrow = Array.from({ length: slots.length / 7 }, (_, i) => [
      ...slots.slice(7 * i, 7 * i + 4),
      slots[7 * i + 6],
    ]);
    const old = {
      ...{ ...snapshot, format: 4 },
      known: { ...snapshot.known, slots: Uint32Array.from(narrow.flat()) },
    };
    await store.snapshots.put(accountId, classifierId, inOneValue(old));
    const restarted = create();
    expect(await restarted.read(({ rowCount, needsRebuild }) => [rowCount, needsRebuild])).toEqual([
      14,
      true,
    ]);
    await restarted.train(rowsOf(0, 14), undefined, { ...job, jobId: 'again' });
    expect(await restarted.read((state) => state.jobCounts('again'))).toEqual({ trained: 0, corrected: 0 });
    await rebuilt(restarted);
    expect(await list(restarted)).toEqual([...expected, ...labelled(rowsOf(12, 14))]);
  });
});
