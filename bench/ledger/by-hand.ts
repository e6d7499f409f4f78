/** What a user would write instead of the hub: one Fastify process, a key check, the driver. Arguments: engine, URL, port, key. */

import Fastify from 'fastify';
import mysql from 'mysql2/promise';
import pg from 'pg';

const [, , engine, url = '', port, key] = process.argv;
type Run = (name: string, text: string, values: unknown[]) => Promise<unknown>;

function createRun(): Run {
  if (engine === 'postgres') {
    const pool = new pg.Pool({ connectionString: url, max: 10 });
    return async (name, text, values) => {
      let number = 0;
      const { rows, rowCount } = await pool.query({
        name,
        text: text.replaceAll('?', () => `$${++number}`),
        values,
      });
      return name === 'write' ? rowCount : rows;
    };
  }
  const pool = mysql.createPool({ uri: url, connectionLimit: 10 });
  return async (_name, text, values) => (await pool.execute(text, values as number[]))[0];
}

const run = createRun();
const app = Fastify();
app.addHook('onRequest', async (request, reply) => {
  if (request.headers['x-service-api-key'] !== key) return reply.code(401).send();
});
app.get('/healthz', () => ({}));
const columns = 'SELECT id, name, amount FROM ledger_rows';
const many = `${columns} WHERE id IN (${Array.from({ length: 20 }, () => '?').join(', ')})`;
const texts: Record<string, string> = {
  minimal: 'SELECT 1 AS one',
  parameters: many,
  record: `${columns} WHERE id = ?`,
  records: `${columns} WHERE id >= ? ORDER BY id LIMIT 100`,
  write: 'UPDATE ledger_rows SET amount = amount + 1 WHERE id = ?',
};
for (const [name, text] of Object.entries(texts)) {
  app.post(`/${name}`, async (request) => ({
    data: await run(name, text, Object.values(request.body as Record<string, number>)),
  }));
}
await app.listen({ port: Number(port), host: '127.0.0.1' });
