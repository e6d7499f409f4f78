import { beforeEach, describe, expect, it } from 'vitest';
import { api, createSource, timestamp } from '../support/hub.ts';

const texts = ['green "tea"', 'black tea,\nwith milk', 'strong coffee', 'an espresso', 'tea again'];
const examples = texts.map((context, i) => ({ label: i === 2 || i === 3 ? 'coffee' : 'tea', context }));

describe('the examples of a classifier', () => {
  let path: string;
  beforeEach(async () => {
    path = `/v1/classifiers/${(await api.ok(api.post('/v1/classifiers', { name: 'drinks' }))).id}`;
    await api.ok(api.post(`${path}/train`, { examples }));
  });

  const list = () => api.ok(api.get(`${path}/examples`));
  const counts = async () => {
    const { classes } = await api.ok(api.get(path));
    return Object.fromEntries(
      classes.map((one: { label: string; observations: number }) => [one.label, one.observations]),
    );
  };

  it('are listed page by page, in the order of training', async () => {
    const all = await list();
    expect(all.map(({ label, context }: { label: string; context: string }) => ({ label, context }))).toEqual(
      examples,
    );
    expect(all[0].trainedAt).toMatch(timestamp);
    const first = await api.get(`${path}/examples?limit=3`);
    expect([first.body, first.headers.get('x-total-count')]).toEqual([all.slice(0, 3), '5']);
    const [, next = ''] = /^<(.*)>; rel="next"$/.exec(first.headers.get('link') ?? '') ?? [];
    const second = await api.get(`${path}/examples${next}`);
    expect([second.body, second.headers.get('link')]).toEqual([all.slice(3), null]);
    expect((await api.get(`${path}/examples?limit=0`)).body.errors).toMatchObject([
      { pointer: 'query/limit' },
    ]);
    const { paths } = (await api.get('/openapi.json')).body;
    expect(paths['/v1/classifiers/{classifierId}/examples'].get.parameters).toContainEqual(
      expect.objectContaining({ name: 'limit', schema: { type: 'integer', minimum: 1 } }),
    );
    expect((await api.get(`${path}/examples?after=x`)).status).toBe(404);
  });

  it('are listed and exported by label', async () => {
    const all = await list();
    const coffee = all.filter(({ label }: { label: string }) => label === 'coffee');
    const first = await api.get(`${path}/examples?label=coffee&limit=1`);
    expect([first.body, first.headers.get('x-total-count')]).toEqual([[coffee[0]], '2']);
    const [, next = ''] = /^<(.*)>; rel="next"$/.exec(first.headers.get('link') ?? '') ?? [];
    const second = await api.get(`${path}/examples${next}`);
    expect([second.body, second.headers.get('link')]).toEqual([[coffee[1]], null]);
    const csv = await api.get(`${path}/examples?label=%20coffee%20`, { headers: { accept: 'text/csv' } });
    expect(csv.text.trimEnd().split('\r\n')).toHaveLength(3);
    const unknown = await api.get(`${path}/examples?label=water`);
    expect([unknown.body, unknown.headers.get('x-total-count')]).toEqual([[], '0']);
    for (const wrong of ['label=', `label=${'x'.repeat(201)}`, 'label=a&label=b'])
      expect((await api.get(`${path}/examples?${wrong}`)).body.errors).toMatchObject([
        { pointer: 'query/label' },
      ]);
    await api.ok(api.put(`${path}/examples/${coffee[0].exampleId}`, { label: 'tea' }));
    expect((await api.get(`${path}/examples?label=coffee`)).body).toEqual([coffee[1]]);
    const { paths } = (await api.get('/openapi.json')).body;
    expect(paths['/v1/classifiers/{classifierId}/examples'].get.parameters).toContainEqual(
      expect.objectContaining({ name: 'label', required: false }),
    );
  });

  it('are followed by the texts of a query that are worth a label, the least certain first', async () => {
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'texts' }));
    const sourceId = await createSource(hubId);
    const query = `SELECT 'green tea' AS body UNION ALL SELECT 'tea or coffee' UNION ALL SELECT 'an espresso'
      UNION ALL SELECT 'tea or coffee' UNION ALL SELECT NULL UNION ALL SELECT :more`;
    const stored = await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'texts', query }));
    const { queryId } = stored.config.query;
    const ask = (parameters: object) =>
      api.get(`${path}/examples?${new URLSearchParams({ sort: 'uncertain', queryId, ...parameters })}`);
    const context = JSON.stringify({ more: 'strong coffee' });
    const { body, headers } = await ask({ text: 'body', context });
    expect(headers.get('x-total-count')).toBe('4');
    expect(body.map((one: { context: string }) => one.context).toSorted()).toEqual([
      'an espresso',
      'green tea',
      'strong coffee',
      'tea or coffee',
    ]);
    const margins = body.map(({ scores }: { scores: { confidence: number }[] }) => {
      const [first, second] = scores;
      return (first?.confidence ?? 0) - (second?.confidence ?? 0);
    });
    expect(margins).toEqual(margins.toSorted((a: number, b: number) => a - b));
    const predicted = await api.ok(api.post(`${path}/predict`, { context: body[0].context }));
    expect(body[0]).toEqual({
      ...{ context: body[0].context, label: predicted.label, confidence: predicted.confidence },
      scores: predicted.scores,
    });
    expect((await ask({ text: 'body', context, limit: '1' })).body).toEqual([body[0]]);
    const pointersOf = async (parameters: object) =>
      (await ask(parameters)).body.errors.map(({ pointer }: { pointer: string }) => pointer);
    expect(await pointersOf({ context })).toEqual(['query/text']);
    expect(await pointersOf({ text: 'subject', context })).toEqual(['query/text']);
    expect(await pointersOf({ text: 'body', context: '[1]' })).toEqual(['query/context']);
    expect(await pointersOf({ text: 'body', context, sort: 'newest' })).toEqual(['query/sort']);
    expect(await pointersOf({ text: 'body', context, queryId: '' })).toEqual(['query/queryId']);
    const { id } = await api.ok(api.post('/v1/classifiers', {}));
    const untrained = await api.get(
      `/v1/classifiers/${id}/examples?sort=uncertain&text=body&queryId=${queryId}`,
    );
    expect(untrained.body.code).toBe('NOT_TRAINED');
    for (const scopes of [['classifiers:read'], ['classifiers:read', 'classifiers:predict']]) {
      const { key } = await api.ok(api.post('/v1/keys', { name: 'few', scopes }));
      const refused = await api.get(`${path}/examples?sort=uncertain&text=body&queryId=${queryId}`, {
        headers: { 'x-service-api-key': key },
      });
      expect(refused.status).toBe(403);
    }
    const scopes = ['classifiers:read', 'classifiers:predict', 'queries:execute'];
    const { key } = await api.ok(api.post('/v1/keys', { name: 'one row', scopes, limits: { maxRows: 1 } }));
    const asOne = new URLSearchParams({ sort: 'uncertain', text: 'body', queryId, context });
    const cut = await api.get(`${path}/examples?${asOne}`, { headers: { 'x-service-api-key': key } });
    expect([cut.headers.get('x-total-count'), cut.headers.get('x-truncated')]).toEqual(['1', 'true']);
    await api.delete(`/v1/hubs/${hubId}?recursive=true`);
  });

  it('are exported as NDJSON and CSV, which can be imported', async () => {
    const all = await list();
    for (const accept of ['application/x-ndjson', 'text/csv']) {
      const { text: raw, headers } = await api.get(`${path}/examples`, { headers: { accept } });
      const type = headers.get('content-type') ?? '';
      expect(type).toContain(accept);
      if (accept === 'application/x-ndjson')
        expect(
          raw
            .trimEnd()
            .split('\n')
            .map((line) => JSON.parse(line)),
        ).toEqual(all);
      const { id } = await api.ok(api.post('/v1/classifiers', {}));
      const imported = api.call('POST', `/v1/classifiers/${id}/train`, {
        raw,
        headers: { 'content-type': type },
      });
      expect(await api.ok(imported)).toEqual({ trained: 5, skipped: 0, faults: [] });
      const predict = (at: string) => api.ok(api.post(`${at}/predict`, { context: 'milk tea' }));
      expect((await predict(`/v1/classifiers/${id}`)).confidence).toBe((await predict(path)).confidence);
    }
  });

  it('are exported in full, beyond one page', async () => {
    const many = Array.from({ length: 2_300 }, (_, i) => ({ label: `${i % 2}`, context: `text ${i}` }));
    await api.ok(api.post(`${path}/train`, { examples: many }));
    const { text } = await api.get(`${path}/examples`, { headers: { accept: 'text/csv' } });
    expect(text.split('\r\n').slice(0, 1)).toEqual(['exampleId,classId,label,context,trainedAt']);
    expect(text.trimEnd().split('\r\n')).toHaveLength(2_306);
    const arrow = 'application/vnd.apache.arrow.stream';
    expect((await api.get(`${path}/examples`, { headers: { accept: arrow } })).status).toBe(406);
    const head = await api.call('HEAD', `${path}/examples`, { headers: { accept: 'text/csv' } });
    expect([head.status, head.headers.get('x-total-count')]).toEqual([200, '2305']);
  });

  it('are corrected and deleted, and the model follows', async () => {
    const [first, second, third] = await list();
    const at = ({ exampleId }: { exampleId: string }) => `${path}/examples/${exampleId}`;
    const { headers, body } = await api.put(at(first), { label: ' matcha ' });
    expect(body).toMatchObject({ exampleId: first.exampleId, label: 'matcha', context: 'green "tea"' });
    expect(headers.get('etag')).toBe((await api.get(path)).headers.get('etag'));
    await api.ok(api.put(at(second), { ...second, context: 'black tea' }));
    await api.ok(api.delete(at(third)));
    expect(await counts()).toEqual({ tea: 2, coffee: 1, matcha: 1 });
    const left = (await list()).map(({ label, context }: { label: string; context: string }) => [
      label,
      context,
    ]);
    expect(left).toEqual([
      ['matcha', 'green "tea"'],
      ['tea', 'black tea'],
      ['coffee', 'an espresso'],
      ['tea', 'tea again'],
    ]);
    const { id } = await api.ok(api.post('/v1/classifiers', {}));
    const same = left.map(([label, context]: [string, string]) => ({ label, context }));
    await api.ok(api.post(`/v1/classifiers/${id}/train`, { examples: same }));
    const scores = async (of: string) => {
      const { scores } = await api.ok(api.post(`${of}/predict`, { context: 'green tea' }));
      return scores.map(({ label, confidence }: { label: string; confidence: number }) => [
        label,
        confidence,
      ]);
    };
    await expect.poll(() => scores(path), { timeout: 60_000 }).toEqual(await scores(`/v1/classifiers/${id}`));
    for (const gone of [third, { exampleId: '1.0' }]) {
      expect((await api.put(at(gone), { label: 'x' })).status).toBe(404);
      expect((await api.delete(at(gone))).status).toBe(404);
    }
  });

  it('are changed only at the version in If-Match, and only to valid examples', async () => {
    const [first] = await list();
    const at = `${path}/examples/${first.exampleId}`;
    const stale = { headers: { 'if-match': '"1"' } };
    expect((await api.put(at, { label: 'x' }, stale)).status).toBe(412);
    expect((await api.delete(at, stale)).status).toBe(412);
    const { body } = await api.put(at, { label: ' ', context: '\n' });
    expect(body.errors).toMatchObject([{ pointer: '/label' }, { pointer: '/context' }]);
    expect((await api.put(at, { text: 'x' })).status).toBe(400);
    const current = { headers: { 'if-match': (await api.get(path)).headers.get('etag') ?? '' } };
    await api.ok(api.delete(at, current));
    expect(await counts()).toEqual({ tea: 2, coffee: 2 });
  });

  it('leave nothing to predict once all are deleted', async () => {
    for (const { exampleId } of await list()) await api.ok(api.delete(`${path}/examples/${exampleId}`));
    expect(await list()).toEqual([]);
    expect(await counts()).toEqual({ tea: 0, coffee: 0 });
    expect((await api.post(`${path}/predict`, { context: 'tea' })).body.code).toBe('NOT_TRAINED');
  });
});

describe('a classifier', () => {
  it('is renamed', async () => {
    const { body, headers } = await api.post('/v1/classifiers', { name: 'before' });
    const path = `/v1/classifiers/${body.id}`;
    await api.ok(api.post(`${path}/train`, { label: 'a', context: 'words' }));
    const stale = { headers: { 'if-match': headers.get('etag') ?? '' } };
    expect((await api.put(path, { name: 'x' }, stale)).status).toBe(412);
    const renamed = await api.put(path, { ...(await api.get(path)).body, name: ' after ' });
    const read = await api.get(path);
    expect([read.body.name, read.headers.get('etag')]).toEqual(['after', renamed.headers.get('etag')]);
    // The version counts both renames and training.
    const current = { headers: { 'if-match': read.headers.get('etag') ?? '' } };
    const [{ classId }] = read.body.classes;
    expect((await api.delete(`${path}/classes/${classId}`, stale)).status).toBe(412);
    await api.ok(api.delete(`${path}/classes/${classId}`, current));
    for (const name of ['', ' ', 'x'.repeat(201)]) {
      expect((await api.put(path, { name })).body.errors).toMatchObject([{ pointer: '/name' }]);
    }
    expect((await api.put(path, {})).body.errors).toMatchObject([{ pointer: '/name' }]);
    const listed = await api.ok(api.get('/v1/classifiers'));
    expect(listed).toContainEqual(expect.objectContaining({ classifierId: body.id, name: 'after' }));
  });
});
