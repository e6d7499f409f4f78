import { beforeEach, describe, expect, it } from 'vitest';
import { api, idShape, timestamp } from '../support/hub.ts';

const create = async (body: object = { name: 'mail' }) =>
  (await api.ok(api.post('/v1/classifiers', body))).id as string;

describe('a classifier', () => {
  let id: string;
  let path: string;

  beforeEach(async () => {
    id = await create();
    path = `/v1/classifiers/${id}`;
  });

  const train = (label: string, context: string) => api.ok(api.post(`${path}/train`, { label, context }));
  const predict = (context: string) => api.ok(api.post(`${path}/predict`, { context }));

  it('is created, listed and read', async () => {
    expect(id).toMatch(idShape('clfr'));
    const listed = (await api.ok(api.get('/v1/classifiers'))).find(
      (one: { classifierId: string }) => one.classifierId === id,
    );
    expect(listed).toEqual({
      classifierId: id,
      name: 'mail',
      createdAt: expect.stringMatching(timestamp),
      updatedAt: null,
    });
    expect(await api.ok(api.get(path))).toEqual({ ...listed, classes: [] });
  });

  it.each([[{}], [{ name: '' }], [{ name: null }]])('gets a name when created with %j', async (body) => {
    const { name } = await api.ok(api.get(`/v1/classifiers/${await create(body)}`));
    expect(name).toMatch(/^classifier-[0-9a-z]{6}$/);
  });

  it('changes its ETag when it learns or forgets, and is deleted only at the version in If-Match', async () => {
    const etagOf = async () => (await api.get(path)).headers.get('etag') as string;
    const first = await etagOf();
    expect(first).toBe('"1"');
    const { classId } = await train('a', 'one');
    await train('b', 'two');
    const second = await etagOf();
    expect(second).toBe('"3"');
    const at = (etag: string) => ({ headers: { 'if-match': etag } });
    for (const gone of [path, `${path}/classes/${classId}`]) {
      const { status, body } = await api.delete(gone, at(first));
      expect([status, body.code]).toEqual([412, 'VERSION_MISMATCH']);
    }
    expect((await api.delete(`${path}/classes/${classId}`, at(second))).status).toBe(200);
    expect(await etagOf()).toBe('"4"');
    expect((await api.delete(path, at(second))).status).toBe(412);
    expect((await api.delete(path, at('"4"'))).status).toBe(200);
  });

  it('learns from each example at once', async () => {
    const refused = await api.post(`${path}/predict`, { context: 'x' });
    expect([refused.status, refused.body.code]).toEqual([409, 'NOT_TRAINED']);

    const first = await train('refund', 'I want my money back');
    expect(first).toEqual({ classId: expect.stringMatching(idShape('clfc')), observations: 1 });
    expect(await train('refund', 'please refund my order')).toEqual({ ...first, observations: 2 });
    const other = await train('praise', 'wonderful coffee, thank you');
    expect(other.observations).toBe(1);

    const prediction = await predict('money back please');
    expect(prediction).toMatchObject({
      classId: first.classId,
      label: 'refund',
      confidence: expect.any(Number),
    });
    expect(prediction.scores.map(({ confidence }: { confidence: number }) => confidence)[0]).toBe(
      prediction.confidence,
    );
    const sum = prediction.scores.reduce(
      (total: number, { confidence }: { confidence: number }) => total + confidence,
      0,
    );
    expect(sum).toBeCloseTo(1, 9);

    const read = await api.ok(api.get(path));
    expect(read.updatedAt).toMatch(timestamp);
    expect(read.classes).toEqual([
      { classId: first.classId, label: 'refund', observations: 2 },
      { classId: other.classId, label: 'praise', observations: 1 },
    ]);
  });

  it('returns the best classes and the sum of the rest', async () => {
    const examples = Array.from({ length: 30 }, (_, i) => ({ label: `label ${i}`, context: `word${i}` }));
    await api.ok(api.post(`${path}/train`, { examples }));
    const best = await predict('word7');
    expect(best.scores).toHaveLength(20);
    expect(best.otherScore).toBeGreaterThan(0);
    const one = await api.ok(api.post(`${path}/predict`, { contexts: ['word7'], options: { top: 1 } }));
    expect(one.predictions).toMatchObject([{ label: best.label, scores: [best.scores[0]] }]);
    const all = await api.ok(api.post(`${path}/predict`, { context: 'word7', options: { top: 1_000 } }));
    expect(all).toMatchObject({ label: best.label, otherScore: 0, scores: { length: 30 } });
    for (const top of [0, 1_001, 1.5, '2']) {
      const { status, body } = await api.post(`${path}/predict`, { context: 'a', options: { top } });
      expect([status, body.errors[0].pointer]).toEqual([400, '/options/top']);
    }
  });

  it('refuses more contexts than its classes allow, and says how many fit', async () => {
    const examples = Array.from({ length: 101 }, (_, i) => ({ label: `label ${i}`, context: `word${i}` }));
    await api.ok(api.post(`${path}/train`, { examples }));
    const { status, body } = await api.post(`${path}/predict`, {
      contexts: Array.from({ length: 10_000 }, () => 'a'),
      options: { top: 1 },
    });
    expect([status, body.code]).toEqual([422, 'LIMIT_EXCEEDED']);
    expect(body.detail).toContain('Send at most 9900 contexts at a time.');
  });

  it('accepts batches of examples and of texts', async () => {
    const examples = [
      { label: 'a', context: 'apple apricot' },
      { label: 'b', context: 'banana blueberry' },
      { label: 'a', context: 'apple' },
    ];
    const { results } = await api.ok(api.post(`${path}/train`, { examples }));
    expect(results.map(({ observations }: { observations: number }) => observations)).toEqual([1, 1, 2]);
    const { predictions } = await api.ok(api.post(`${path}/predict`, { contexts: ['apple', 'banana'] }));
    expect(predictions.map(({ label }: { label: string }) => label)).toEqual(['a', 'b']);
    // The first example is not predicted.
    expect(await api.ok(api.get(`${path}/evaluation`))).toMatchObject({
      examples: 2,
      accuracy: 0.5,
      calibrationError: expect.any(Number),
      classes: [
        { label: 'a', support: 1, recall: 1 },
        { label: 'b', support: 1, recall: 0 },
      ],
    });
  });

  it('is evaluated by class, in total and over the last examples, without deleted classes', async () => {
    const empty = { examples: 0, accuracy: null, calibrationError: null, classes: [] };
    const nothing = { ...empty, confusion: { classes: [], counts: [] } };
    expect(await api.ok(api.get(`${path}/evaluation`))).toEqual({
      ...nothing,
      recent: nothing,
      curve: [],
    });

    const labels = ['apple', 'banana', 'cherry'];
    const examples = Array.from({ length: 1_503 }, (_, i) => {
      const label = labels[i % 3] as string;
      return { label, context: `${label} word${i % 7}` };
    });
    const { results } = await api.ok(api.post(`${path}/train`, { examples }));
    const all = await api.ok(api.get(`${path}/evaluation`));
    expect([all.examples, all.recent.examples]).toEqual([1_502, 1_000]);
    expect(all.accuracy).toBeLessThan(1);
    expect(all.recent).toMatchObject({ accuracy: 1, calibrationError: expect.any(Number) });
    expect(all.curve.map(({ examples, window }: Record<string, number>) => [examples, window])).toEqual([
      [10, 10],
      [20, 10],
      [30, 10],
      [50, 20],
      [100, 50],
      [200, 100],
      [300, 100],
      [500, 200],
      [1_000, 500],
      [1_502, 502],
    ]);
    expect(all.curve.at(-1)).toMatchObject({ accuracy: 1, meanConfidence: expect.any(Number) });
    // The first example of all had no prediction.
    const supports = [
      [all, [500, 501, 501]],
      [all.recent, [333, 333, 334]],
    ];
    for (const [figures, expected] of supports) {
      const found = figures.classes.toSorted((one: { label: string }, other: { label: string }) =>
        one.label < other.label ? -1 : 1,
      );
      expect(found.map(({ label, support }: Record<string, unknown>) => [label, support])).toEqual(
        labels.map((label, i) => [label, expected[i]]),
      );
      const rows = figures.confusion.counts.map((row: number[]) => row.reduce((sum, one) => sum + one, 0));
      expect(rows.toSorted()).toEqual(expected);
      expect(figures.confusion.classes).toHaveLength(3);
    }
    expect(all.recent.classes).toContainEqual({
      classId: results[0].classId,
      label: 'apple',
      support: 333,
      precision: 1,
      recall: 1,
    });

    await api.ok(api.delete(`${path}/classes/${results[0].classId}`));
    const after = await api.ok(api.get(`${path}/evaluation`));
    expect(after.examples).toBeLessThanOrEqual(1_002);
    const lastExamples = async () =>
      (await api.ok(api.get(`${path}/evaluation`))).curve.at(-1)?.examples ?? 0;
    await expect.poll(lastExamples, { timeout: 60_000 }).toBe(1_001);
    for (const figures of [after, after.recent]) {
      for (const found of [figures.classes, figures.confusion.classes]) {
        expect(found.map(({ label }: { label: string }) => label).toSorted()).toEqual(['banana', 'cherry']);
      }
    }
  });

  it('forgets a deleted class', async () => {
    const { classId } = await train('gone', 'some text');
    await train('stays', 'other words');
    expect(await api.ok(api.delete(`${path}/classes/${classId}`))).toEqual({});
    expect((await predict('some text')).label).toBe('stays');
    expect((await api.delete(`${path}/classes/${classId}`)).status).toBe(404);
    const again = await train('gone', 'some text');
    expect(again.classId).not.toBe(classId);
    expect(again.observations).toBe(1);
    const withBody = await api.call('DELETE', `${path}/classes/${again.classId}`, {
      body: { context: 'unused' },
    });
    expect(withBody.status).toBe(200);
  });

  it('is deleted with its examples', async () => {
    await train('a', 'b');
    expect(await api.ok(api.delete(path))).toEqual({});
    for (const answer of [api.get(path), api.post(`${path}/predict`, { context: 'b' }), api.delete(path)]) {
      expect((await answer).status).toBe(404);
    }
  });

  it('counts every example of concurrent callers', async () => {
    await Promise.all(Array.from({ length: 60 }, (_, i) => train(`label ${i % 3}`, `text ${i}`)));
    const { classes } = await api.ok(api.get(path));
    expect(classes.map(({ observations }: { observations: number }) => observations)).toEqual([20, 20, 20]);
  });

  it.each(['__proto__', 'constructor', '😀', 'א'.repeat(200)])('accepts the label %j', async (label) => {
    await train(label, `${label} words`);
    await train('other', 'something else');
    expect((await predict(`${label} words`)).label).toBe(label);
  });

  it('refuses invalid examples', async () => {
    const refused = async (body: object) => {
      const { status, body: problem } = await api.post(`${path}/train`, body);
      expect(status).toBe(400);
      return problem.errors.map(({ pointer }: { pointer: string }) => pointer);
    };
    expect(await refused({})).toEqual(['/label', '/context']);
    expect(await refused({ label: ' ', context: 'x' })).toEqual(['/label']);
    for (const context of ['', ' \n\t']) {
      expect(await refused({ label: 'a', context })).toEqual(['/context']);
      expect(await refused({ examples: [{ label: 'a', context }] })).toEqual(['/examples/0/context']);
    }
    expect(await refused({ label: ' ', context: 1, more: 2 })).toEqual(['/label', '/context', '/more']);
    const faults = [
      { label: ' ', context: '' },
      1,
      { label: 'a\u0000', context: 'x', more: 2 },
      { label: 5 },
    ];
    expect(await refused({ examples: faults })).toEqual([
      '/examples/0/label',
      '/examples/0/context',
      '/examples/1',
      '/examples/2/label',
      '/examples/2/more',
      '/examples/3/label',
      '/examples/3/context',
    ]);
    expect(await refused({ label: 'a', context: 'x', examples: [{ label: 'b', context: 'y' }] })).toEqual([
      '/label',
      '/context',
    ]);
    expect(await refused({ examples: [] })).toEqual(['/examples']);
    const blank = { label: ' ', context: 'x' };
    expect(await refused({ examples: [blank] })).toEqual(['/examples/0/label']);
    expect(await refused({ examples: [{ label: 'a', context: 'x' }, blank] })).toEqual(['/examples/1/label']);
    const long = 'x'.repeat(4_194_305);
    const { body: problem } = await api.post(`${path}/predict`, { contexts: [long] });
    expect(problem.errors).toMatchObject([{ pointer: '/contexts/0' }]);
    expect((await api.post(`${path}/predict`, {})).body.errors).toMatchObject([{ pointer: '/context' }]);
    for (const [body, pointer] of [
      [{ context: ' ' }, '/context'],
      [{ contexts: ['a', '\n'] }, '/contexts/1'],
    ] as const) {
      const detail = 'must not be blank';
      expect(await api.post(`${path}/predict`, body)).toMatchObject({
        status: 400,
        body: { errors: [{ pointer, detail }] },
      });
    }
  });
});
