/** Transactions of PostgreSQL whose connection is lost between COMMIT and its answer. */

import { randomBytes } from 'node:crypto';
import { createServer, type Socket, connect as tcp } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { api, createSource, database, engines, execute, sourceBody } from '../support/hub.ts';
import { scaled } from '../support/scale.ts';

/** A link to the database that ends when COMMIT was sent: before the server gets it, or before its answer comes back. */
let cut: 'never' | 'before' | 'behind' = 'never';
const { host, port } = engines.includes('postgres') ? database('postgres') : { host: '', port: 0 };
const sockets = new Set<Socket>();
const link = createServer((client) => {
  const server = tcp(port, host);
  let isDeaf = false;
  for (const socket of [client, server]) {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => {
      client.destroy();
      server.destroy();
    });
  }
  client.on('data', (bytes) => {
    const isCommit = cut !== 'never' && bytes.includes('COMMIT\0');
    const isBefore = cut === 'before';
    if (isCommit) cut = 'never';
    if (isCommit && isBefore) return server.destroy();
    if (isCommit) {
      isDeaf = true;
      // By then the server has committed.
      server.once('data', () => client.destroy());
    }
    server.write(bytes);
  });
  server.on('data', (bytes) => isDeaf || client.write(bytes));
});

describe.each(engines.filter((engine) => engine === 'postgres'))(
  'a COMMIT at %s without an answer',
  (engine) => {
    const table = `lost_${randomBytes(4).toString('hex')}`;
    let sourceId: string;
    let insert: string;
    let direct: { hubId: string; sourceId: string };

    beforeAll(async () => {
      await new Promise<void>((resolve) => link.listen(0, '127.0.0.1', resolve));
      const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'lost commits' }));
      direct = { hubId, sourceId: await createSource(hubId, engine) };
      await execute({ ...direct, query: `CREATE TABLE ${table} (id int)`, command: 'CREATE' });
      const body = sourceBody(hubId, engine);
      const { port: linked } = link.address() as { port: number };
      const connectionSettings = {
        ...body.connectionSettings,
        ...{ host: '127.0.0.1', port: linked, tls: { mode: 'disable' }, pool: { max: 1 } },
      };
      ({ sourceId } = await api.ok(
        api.post('/v1/sources', { ...body, label: 'linked', connectionSettings }),
      ));
      const query = {
        hubId,
        sourceId,
        label: 'q',
        query: `INSERT INTO ${table} VALUES (:id)`,
        command: 'INSERT',
      };
      insert = (await api.ok(api.post('/v1/queries', query))).config.query.queryId;
    });
    afterAll(async () => {
      await execute({ ...direct, query: `DROP TABLE ${table}`, command: 'DROP' });
      for (const socket of sockets) socket.destroy();
      link.close();
    });

    const count = async (id: number) =>
      Number(
        (await execute({ ...direct, query: `SELECT count(*) AS n FROM ${table} WHERE id = ${id}` })).data[0]
          .n,
      );
    const transact = (id: number) =>
      api.post('/v1/queries/transaction', { steps: [{ queryId: insert, context: { id } }] });

    it('is answered as if nothing had happened if the server has committed', async () => {
      await api.ok(transact(1));
      cut = 'behind';
      const { status, body } = await transact(2);
      expect([status, body.meta]).toEqual([200, { attempts: 1, recovered: true }]);
      expect(await count(2)).toBe(1);
    });

    it.each(['behind', 'before'] as const)(
      'is found out for a single write with an Idempotency-Key (cut %s the server)',
      async (where) => {
        const id = where === 'behind' ? 4 : 5;
        const call = () =>
          api.post(
            '/v1/queries/execute',
            { queryId: insert, context: { id }, options: { meta: true } },
            { headers: { 'idempotency-key': `${table}-${id}` } },
          );
        cut = where;
        const first = await call();
        expect(cut).toBe('never');
        if (where === 'behind')
          expect([first.status, first.body.data, first.body.meta.recovered]).toEqual([
            200,
            [{ affectedRows: 1 }],
            true,
          ]);
        else
          expect([first.status, first.body.code, first.body.retryable]).toEqual([
            502,
            'SOURCE_UNREACHABLE',
            true,
          ]);
        expect(await count(id)).toBe(where === 'behind' ? 1 : 0);
        const { meta } = await api.ok(call());
        expect([meta.rowCount, meta.recovered]).toEqual([0, where === 'behind' ? true : undefined]);
        expect(await count(id)).toBe(1);
      },
    );

    it('is always found out', async () => {
      const lost = scaled(20, 1_000);
      for (let i = 0; i < lost; i++) {
        const id = 1_000 + i;
        cut = i % 3 === 0 ? 'before' : 'behind';
        const hasCommitted = cut === 'behind';
        const headers = { 'idempotency-key': `${table}-${id}` };
        const write = { queryId: insert, context: { id } };
        const { status, body } = await (i % 2 === 0
          ? api.post('/v1/queries/execute', write, { headers })
          : api.post('/v1/queries/transaction', { steps: [write] }, { headers }));
        expect([cut, status, body.code]).toEqual(
          hasCommitted ? ['never', 200, undefined] : ['never', 502, 'SOURCE_UNREACHABLE'],
        );
      }
      const query = `SELECT count(*) AS n, count(DISTINCT id) AS d FROM ${table} WHERE id >= 1000`;
      const { data } = await execute({ ...direct, query });
      const expected = lost - Math.ceil(lost / 3);
      expect(data.map(({ n, d }: { n: string; d: string }) => [Number(n), Number(d)])).toEqual([
        [expected, expected],
      ]);
    }, 600_000);

    it('is retryable if the server has rolled back', async () => {
      cut = 'before';
      const { status, body } = await transact(3);
      expect([status, body.code, body.retryable]).toEqual([502, 'SOURCE_UNREACHABLE', true]);
      expect(await count(3)).toBe(0);
      await api.ok(transact(3));
      expect(await count(3)).toBe(1);
    });
  },
);
