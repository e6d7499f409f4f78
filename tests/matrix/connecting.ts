/** Checks of log-ins, TLS, and the version, schema and signatures of a source. */

import { strict as assert } from 'node:assert';
import type { Bench } from './bench.ts';
import type { Check } from './check.ts';

const caOf = (bench: Bench) => {
  if (!bench.target.tls) throw new Error('This server has no certificate.');
  return bench;
};

const refusedBy = (code: string, change: object) => async (bench: Bench) => {
  await bench.refused(bench.test(await bench.source(change)), 502, code);
};

const acceptedBy = (change: object) => async (bench: Bench) => {
  const { ok } = await bench.api.ok(bench.test(await bench.source(change)));
  assert.equal(ok, true);
};

export const connecting: Check[] = [
  {
    name: 'the test of a source answers its version',
    run: async (bench) => {
      const answer = await bench.api.ok(bench.test());
      assert.match(answer.serverVersion, /\d/);
    },
  },
  { name: 'wrong password: `SOURCE_AUTH`', run: refusedBy('SOURCE_AUTH', { password: 'not-this-one' }) },
  { name: 'unknown user: `SOURCE_AUTH`', run: refusedBy('SOURCE_AUTH', { user: 'nobody_here' }) },
  { name: 'unknown database: `SOURCE_AUTH`', run: refusedBy('SOURCE_AUTH', { database: 'not_here' }) },
  { name: 'TLS `disable`', run: acceptedBy({ tls: { mode: 'disable' } }) },
  { name: 'TLS `require`', run: acceptedBy({ tls: { mode: 'require' } }) },
  {
    name: 'TLS `verify-full` with its CA',
    run: async (bench) => {
      assert.equal((await bench.api.ok(bench.test(await caOf(bench).source()))).ok, true);
    },
  },
  {
    name: 'TLS `verify-full` without its CA: `SOURCE_TLS`',
    run: (bench) => refusedBy('SOURCE_TLS', { tls: { mode: 'verify-full' } })(caOf(bench)),
  },
  {
    name: 'schema of a source',
    run: async (bench) => {
      const { tables } = await bench.api.ok(bench.api.get(`/v1/sources/${await bench.source()}/schema`));
      const table = tables.find(({ name }: { name: string }) => name === bench.items);
      const names = table.columns.map(({ name }: { name: string }) => name);
      for (const name of ['label', 'big', 'at', 'raw']) assert.ok(names.includes(name), name);
    },
  },
  {
    name: 'signature of a query',
    run: async (bench) => {
      const byId = `SELECT id, label FROM ${bench.items} WHERE id = :id`;
      const text = bench.pick<string | object>({
        postgres: byId,
        mysql: byId,
        mongodb: { find: bench.items },
      });
      const stored = await bench.api.ok(bench.store(text));
      const { queryId } = stored.config.query;
      const { signature } = await bench.api.ok(bench.api.get(`/v1/queries/${queryId}?signature=1`));
      assert.deepEqual(
        signature.columns.map(({ name }: { name: string }) => name),
        ['id', 'label'],
      );
      assert.equal(signature.variables[0].key, 'id');
    },
  },
];
