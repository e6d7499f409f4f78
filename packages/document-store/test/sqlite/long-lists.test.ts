import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cpuMs, longestTurn } from '../../../../tests/support/timing/longest-turn.ts';
import type { Collection, Doc, DocumentStore, Page } from '../../src/index.ts';
import { openSqliteStore } from '../../src/sqlite/store.ts';

interface Run extends Doc {
  hub?: string;
  outcome?: string;
  key?: string | null;
  at?: number;
}

const specs = [
  {
    name: 'runs',
    ...{ indexes: ['hub', 'outcome', 'key'], pairs: [['hub', 'outcome']] as [string, string][] },
    expires: 'at',
  },
];
const accountId = 'a';
const many = 60_000;
/** Of these, one of so many failed. */
const rare = 5_000;
const idOf = (i: number) => `dh.run.${String(i).padStart(7, '0')}`;

const dir = mkdtempSync(join(tmpdir(), 'long-lists-'));
const path = join(dir, 'hub.db');
let store: DocumentStore;
let runs: Collection<Run>;
/** What the same takes SQLite in one piece, in ms. */
let wholeMs: number;

beforeAll(async () => {
  await openSqliteStore(path, specs).close();
  const db = new DatabaseSync(path);
  db.exec(`PRAGMA synchronous = OFF;
    WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${many - 1})
    INSERT INTO c_runs (account_id, id, version, body, f_hub, f_outcome, f_key, f_at)
    SELECT '${accountId}', id, 1, json_object('id', id, 'accountId', '${accountId}', 'version', 1), 'h', outcome, key, i FROM
      (SELECT i, printf('dh.run.%07d', i) AS id, iif(i % ${rare} = 7, 'failed', 'ok') AS outcome, iif(i % ${rare} = 9, 'k', NULL) AS key FROM n)`);
  const startedAt = cpuMs();
  const of = "account_id = 'a' AND f_hub = 'h' AND f_key = 'k'";
  db.prepare(`SELECT count(*) FROM c_runs INDEXED BY i_runs_hub WHERE ${of}`).get();
  db.prepare(`SELECT body FROM c_runs INDEXED BY i_runs_hub WHERE ${of} ORDER BY id`).all();
  wholeMs = cpuMs() - startedAt;
  db.close();
  store = openSqliteStore(path, specs);
  runs = store.collection('runs');
});
afterAll(async () => {
  await store.close();
  rmSync(dir, { recursive: true });
});

type Asked = Omit<Partial<Page>, 'accountId'>;
const find = async (page: Asked) =>
  (await runs.find({ accountId, limit: 500, ...page })).map(({ id }) => Number(id.slice(7)));
const count = (filter: Asked = {}) => runs.count({ accountId, ...filter });
const every = (first: number) => Array.from({ length: many / rare }, (_, i) => first + i * rare);

describe('a list of many documents', () => {
  it('is filtered, counted and paged as if it were read in one piece', async () => {
    const failed = { hub: 'h', outcome: 'failed' };
    const byKey = { hub: 'h', key: 'k' };
    for (const [where, first] of [
      [failed, 7],
      [byKey, 9],
      [{ ...failed, key: null }, 7],
      [{ outcome: 'ok', ...byKey }, 9],
    ] as const) {
      const all = every(first);
      expect(await count({ where })).toBe(all.length);
      expect(await find({ where })).toEqual(all);
      expect(await find({ where, descending: true })).toEqual(all.toReversed());
      expect(await find({ where, offset: 3, limit: 2 })).toEqual(all.slice(3, 5));
      expect(await find({ where, offset: 3, limit: 2, descending: true })).toEqual(
        all.toReversed().slice(3, 5),
      );
      expect(await find({ where, offset: all.length })).toEqual([]);
      const between = { afterId: idOf(first), beforeId: idOf(first + 5 * rare) };
      expect(await find({ where, ...between })).toEqual(all.slice(1, 5));
      expect(await find({ where, ...between, offset: 1, descending: true })).toEqual(
        all.slice(1, 4).toReversed(),
      );
      expect(await count({ where, ...between })).toBe(4);
      expect(
        (await runs.findSummaries({ accountId, where, offset: 1, limit: 2 })).map(({ id }) => id),
      ).toEqual(all.slice(1, 3).map(idOf));
    }
    expect(await find({ offset: 50_003, limit: 2 })).toEqual([50_003, 50_004]);
    expect(await find({ offset: 50_003, limit: 2, descending: true })).toEqual([9_996, 9_995]);
    expect(await find({ where: { hub: 'h' }, offset: 40_000, limit: 1, afterId: idOf(9) })).toEqual([40_010]);
    expect(await find({ where: { hub: 'none', key: 'k' } })).toEqual([]);
    expect(await count({ afterId: idOf(99) })).toBe(many - 100);
  });

  it('is no long turn, many at once neither', async () => {
    const lists = Array.from({ length: 20 }, (_, i) => [
      count({ where: { hub: 'h', key: 'k' }, afterId: idOf(i) }),
      find({ where: { hub: 'h', key: 'none' }, descending: i % 2 === 0 }),
      find({ where: { hub: 'h' }, offset: many - 10 * i }),
    ]);
    const longest = await longestTurn(() => Promise.all(lists.flat()));
    // All of them in one piece would be 20 times as long.
    expect(longest).toBeLessThan(Math.max(3 * wholeMs, 50));
  });

  it('has the number of documents at the time of the answer, whatever is written meanwhile', async () => {
    const before = await count({ beforeId: idOf(many) });
    const counted = [count({ where: { outcome: 'ok', key: null } }), count({ beforeId: idOf(2 * many) })];
    const of = (i: number, more: Partial<Run> = {}): Run => ({
      id: idOf(i),
      accountId,
      version: 1,
      hub: 'h',
      outcome: 'ok',
      key: null,
      at: i,
      ...more,
    });
    const writes = (async () => {
      await runs.insertMany([of(many), of(many + 1)]);
      await runs.insert({ ...of(0), id: '0' });
      await expect(runs.insert(of(5))).rejects.toMatchObject({ code: 'CONFLICT' });
      await runs.replace(of(1, { version: 2, key: 'x' }));
      await runs.replace(of(many - 1, { version: 2, key: 'x' }));
      await runs.delete(accountId, idOf(2));
      await runs.deleteMany({ accountId, where: { key: null }, afterId: idOf(2), limit: 2 });
      await runs.deleteMany({ accountId, idPrefix: idOf(many - 2), limit: 1 });
      await runs.sweepExpired(0, 10);
    })();
    const counts = await Promise.all(counted);
    await writes;
    const added = 3;
    const removed = 6;
    // They can have ended before, between and after the writes.
    const [free = 0, all = 0] = counts.map((one) => one - before);
    for (const one of [all, free + 2 * (many / rare) + 2]) {
      expect(one).toBeGreaterThanOrEqual(-removed);
      expect(one).toBeLessThanOrEqual(added + 2);
    }
    expect(await count({ beforeId: idOf(2 * many) })).toBe(before + added - removed);
    for (const where of [{ outcome: 'ok', key: null }, { hub: 'h' }, { key: 'x' }] as Record<
      string,
      string | null
    >[])
      expect(await count({ where })).toBe(await count({ where, afterId: '!' }));
    expect(await count()).toBe(before + added - removed);
  });
});
