import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { QueryDoc, SourceDoc } from '../../src/documents.ts';
import { meet, openCatalogWithHub } from '../catalog-fixture.ts';

let opened: Awaited<ReturnType<typeof openCatalogWithHub>>;
beforeEach(async () => {
  opened = await openCatalogWithHub();
});
afterEach(() => opened.store.close());

const storedSource = (id = 's') => opened.store.sources.get('a', id) as Promise<SourceDoc>;
const storedQueries = () => opened.store.queries.find({ accountId: 'a', limit: 10 });
const actions = async () =>
  (await opened.store.audit.find({ accountId: 'a', limit: 100 })).map(({ action }) => action).toSorted();

describe('a change of the engine of a source', () => {
  const connectionSettings = { host: 'db', user: 'u', password: 'p', database: 'd', port: 3306, hosts: [] };
  const change = (more: object = {}) =>
    opened.calls.updateSource(
      { sourceId: 's', engine: 'mysql', connectionSettings, moreVersions: [], ...more } as never,
      opened.ctx(),
    );
  const bound = {
    code: 'CONFLICT',
    message: expect.stringContaining('while queries are bound to the source'),
  };
  const changed = {
    code: 'CONFLICT',
    message: expect.stringContaining('engine of the source changed meanwhile'),
  };
  const expectSameEngines = async () => {
    for (const { engine, sourceId } of await storedQueries())
      expect((await storedSource(sourceId)).engine).toBe(engine);
  };

  it('is refused if a query is created between its count and its write', async () => {
    const { replace } = opened.store.sources;
    let writes = 0;
    opened.store.sources.replace = async (...args) => {
      if (++writes === 2) await opened.createQuery();
      return replace.apply(opened.store.sources, args);
    };
    await expect(change()).rejects.toMatchObject(bound);
    expect(await storedSource()).toMatchObject({ engine: 'postgres' });
    expect(await storedQueries()).toHaveLength(1);
  });

  it('takes back a query that is created meanwhile', async () => {
    meet(opened.store.queries, 'insert', { when: 'before', other: change });
    await expect(opened.createQuery()).rejects.toMatchObject(changed);
    expect(await storedQueries()).toEqual([]);
    expect(await storedSource()).toMatchObject({ engine: 'mysql' });
    expect(await actions()).toEqual(['query.create', 'query.delete', 'source.update']);
    await opened.createQuery();
    await expectSameEngines();
  });

  it('takes back a query that is bound to the source meanwhile', async () => {
    await opened.store.sources.insert({ ...opened.source, id: 'other' });
    const { query } = await opened.createQuery();
    const queryId = query?.queryId as string;
    const rebind = (sourceId: string) =>
      opened.calls.updateQuery({ queryId, sourceId, moreVersions: [] }, opened.ctx());
    await rebind('other');
    const before = (await opened.store.queries.get('a', queryId)) as QueryDoc;
    meet(opened.store.queries, 'replace', { when: 'before', other: change });
    await expect(rebind('s')).rejects.toMatchObject(changed);
    expect(await opened.store.queries.get('a', queryId)).toEqual({ ...before, version: 4, updatedAt: 42 });
    await expectSameEngines();
    await rebind('s');
    await expectSameEngines();
  });

  it('never leaves a query of another engine, whichever comes first', async () => {
    for (let n = 0; n < 10; n++) {
      const engine = n % 2 === 0 ? 'mysql' : 'postgres';
      await Promise.allSettled([change({ engine }), opened.createQuery(), change({ engine })]);
      await expectSameEngines();
      for (const { id } of await storedQueries()) await opened.store.queries.delete('a', id);
    }
  });

  it('keeps to the version that the caller expects, and leaves no mark', async () => {
    await expect(change({ expectedVersion: 2 })).rejects.toMatchObject({ code: 'VERSION_MISMATCH' });
    await expect(change({ expectedVersion: 1, connectionSettings: { hosts: [] } })).rejects.toMatchObject({
      code: 'VALIDATION',
    });
    expect(await storedSource()).toEqual(opened.source);
    const { source } = await change({ expectedVersion: 1 });
    expect(source).toMatchObject({ engine: 'mysql', version: 3 });
    expect(await storedSource()).not.toHaveProperty('changesEngine');
  });
});

it('a query is not executed at a source of another engine', async () => {
  const { query } = await opened.createQuery();
  await opened.store.sources.replace({ ...opened.source, engine: 'mysql', version: 2 });
  await expect(
    opened.calls.resolveQuery({ queryId: query?.queryId as string }, opened.ctx()),
  ).rejects.toMatchObject({
    code: 'SOURCE_GONE',
    message: expect.stringContaining('from postgres to mysql'),
  });
});

describe('the deletion of a source', () => {
  const drop = () => opened.calls.deleteSource({ sourceId: 's', moreVersions: [] }, opened.ctx());
  const check = () => opened.calls.takeSourceCheck({ sourceId: 's', everyMs: 1_000 }, opened.ctx());
  const logIn = () => {
    const accepted = [{ login: 'l', address: 'a' }];
    const nothing = { minute: 0, returned: [], failed: [], refused: false };
    return opened.calls.endLogin({ sourceId: 's', settingsVersion: '1', ...nothing, accepted }, opened.ctx());
  };
  const known = () =>
    Promise.all(
      [opened.store.sourceChecks, opened.store.sourceLogins].map((one) => one.count({ accountId: 'a' })),
    );

  it('deletes what is known about it', async () => {
    await check();
    await logIn();
    expect(await known()).toEqual([1, 1]);
    await drop();
    expect(await known()).toEqual([0, 0]);
  });

  it('leaves nothing of a check and a log-in that are written meanwhile', async () => {
    meet(opened.store.sourceChecks, 'insert', { when: 'before', other: drop });
    await check();
    await opened.store.sources.insert(opened.source);
    meet(opened.store.sourceLogins, 'insert', { when: 'before', other: drop });
    await logIn();
    expect(await known()).toEqual([0, 0]);
  });
});
