/** Checks of long answers, their formats and limits, of cancelled statements, of many callers, and of session state. */

import { strict as assert } from 'node:assert';
import { setTimeout as sleep } from 'node:timers/promises';
import { scaled } from '../support/scale.ts';
import { read } from '../support/streaming.ts';
import type { Bench } from './bench.ts';
import type { Check } from './check.ts';

const callers = 240;
/** The time for a cancelled statement to end at its server. */
const endMs = 5_000;
/** The first rows must arrive within this time. Otherwise they probably wait for the last row. */
const beginMs = 3_000;

const long = (bench: Bench, rows: number) => {
  const sql = `SELECT a.n AS n, 'some text' AS filler FROM ${bench.numbers} a, ${bench.numbers} b LIMIT ${rows}`;
  const find = { find: bench.numbers, projection: { _id: 0, n: 1 } };
  return bench.pick<string | object>({ postgres: sql, mysql: sql, mongodb: find });
};

const rowsOf = (bench: Bench) => (bench.target.dialect === 'mongodb' ? 1_000 : scaled(20_000, 100_000));

async function ends(bench: Bench, mark: string): Promise<void> {
  const deadline = performance.now() + endMs;
  while ((await bench.operator.running(mark)) > 0) {
    assert.ok(performance.now() < deadline, `The statement still ran after ${endMs} ms.`);
    await sleep(50);
  }
}

async function idOf(bench: Bench, text: string | object, sourceId?: string): Promise<string> {
  const asked = sourceId === undefined ? {} : { sourceId };
  return (await bench.api.ok(bench.store(text, asked))).config.query.queryId;
}

/** Runs `leave`, which changes its session. The answer of `see` must be the same before and after. */
async function leavesNothing(bench: Bench, leave: string, see: string): Promise<void> {
  const sourceId = await bench.source({ pool: { max: 1 } });
  const clean = await bench.rows(see, { sourceId });
  await bench.rows(leave, { sourceId });
  assert.deepEqual(await bench.rows(see, { sourceId }), clean);
}

export const answers: Check[] = [
  {
    name: 'a long answer as NDJSON',
    run: async (bench) => {
      const { status, text } = await bench.ask(long(bench, rowsOf(bench)), {
        accept: 'application/x-ndjson',
      });
      assert.deepEqual([status, text.split('\n').length - 1], [200, rowsOf(bench)]);
    },
  },
  {
    name: 'a long answer as CSV',
    run: async (bench) => {
      const { status, text } = await bench.ask(long(bench, rowsOf(bench)), { accept: 'text/csv' });
      assert.deepEqual([status, text.split('\r\n').length - 2], [200, rowsOf(bench)]);
    },
  },
  {
    name: 'maxRows cuts, and says so',
    run: async (bench) => {
      const { body } = await bench.ask(long(bench, 1_000), { options: { maxRows: 7 } });
      assert.deepEqual([body.data.length, body.truncated], [7, true]);
    },
  },
  {
    name: 'a reader who leaves ends the statement',
    run: async (bench) => {
      const mark = `leaving_${bench.scratch}`;
      const { numbers } = bench;
      const sql = `SELECT /* ${mark} */ a.n AS n FROM ${numbers} a, ${numbers} b, ${numbers} c`;
      const queryId = await idOf(bench, bench.pick({ postgres: sql, mysql: sql }));
      const reader = read(bench.hub, { queryId, options: { timeoutMs: 10_000 } });
      const begun = await Promise.race([reader.begun.then(() => true), sleep(beginMs, false)]);
      const running = begun ? await bench.operator.running(mark) : 0;
      reader.leave();
      assert.ok(begun, `There was no row after ${beginMs} ms.`);
      assert.ok(running > 0, 'The statement ended too early.');
      await ends(bench, mark);
    },
  },
  {
    name: 'a time-out ends the statement',
    run: async (bench) => {
      const mark = `sleeping_${bench.scratch}`;
      const text = bench.pick({
        postgres: `SELECT /* ${mark} */ pg_sleep(20)`,
        mysql: `SELECT /* ${mark} */ SLEEP(20)`,
      });
      await bench.refused(bench.ask(text, { options: { timeoutMs: 300 } }), 504, 'STATEMENT_TIMEOUT');
      await ends(bench, mark);
      assert.deepEqual(await bench.rows('SELECT 1 AS one'), [{ one: 1 }]);
    },
  },
  {
    name: `${callers} callers at once get their own answers`,
    run: async (bench) => {
      const sql = bench.pick<string | object>({
        postgres: 'SELECT :v::int AS v',
        mysql: 'SELECT CAST(:v AS SIGNED) AS v',
        // FerretDB reads a whole collection to find one document, so the collection has only two.
        mongodb: { find: bench.items, filter: { _id: ':v' }, projection: { _id: 1 } },
      });
      // A new source, because the hub estimates waits from a source's earlier executions.
      const queryId = await idOf(bench, sql, await bench.source());
      const own = (i: number) => (bench.target.dialect === 'mongodb' ? 1 + (i % 2) : i + 1);
      const call = async (_: unknown, i: number) => {
        const body = { queryId, context: { v: own(i) } };
        return (await bench.api.ok(bench.api.post('/v1/queries/execute', body))).data;
      };
      const all = await Promise.all(Array.from({ length: callers }, call));
      assert.deepEqual(
        all.map(([row]) => row.v ?? row._id),
        Array.from({ length: callers }, (_, i) => own(i)),
      );
    },
  },
  {
    name: 'settings of a session are gone',
    run: (bench) =>
      leavesNothing(
        bench,
        bench.pick({
          postgres: "SELECT set_config('matrix.who', 'someone', false)",
          mysql: 'SELECT @matrix_who := 7',
        }),
        bench.pick({
          postgres: "SELECT nullif(current_setting('matrix.who', true), '') AS who",
          mysql: 'SELECT @matrix_who AS who',
        }),
      ),
  },
  {
    name: 'locks of a session are gone',
    run: (bench) =>
      leavesNothing(
        bench,
        bench.pick({
          postgres: `SELECT pg_advisory_lock(${bench.lock})`,
          mysql: `SELECT GET_LOCK('${bench.lock}', 0)`,
        }),
        bench.pick({
          postgres: `SELECT count(*) AS locks FROM pg_locks WHERE locktype = 'advisory' AND objid = ${bench.lock}`,
          mysql: `SELECT IS_FREE_LOCK('${bench.lock}') AS free`,
        }),
      ),
  },
];
