/** What a user would write instead of the hub: one Fastify process, one endpoint, a key check, the driver. Arguments: engine, URL, `small` or `large`. */

import Fastify from 'fastify';
import mysql from 'mysql2/promise';
import pg from 'pg';
import { serve } from './child.ts';

const [, , engine, url = '', size] = process.argv;
const key = 'by-hand-key-0123456789-0123456789';
const app = Fastify();
app.addHook('onRequest', async (request, reply) => {
  if (request.headers['x-service-api-key'] !== key) return reply.code(401).send();
});

if (engine === 'postgres') {
  const pool = new pg.Pool({ connectionString: url, max: 10 });
  app.post('/', async (request) => {
    if (size === 'large') return (await pool.query('SELECT * FROM bench_rows')).rows;
    const { id } = request.body as { id: number };
    const { rows } = await pool.query({
      name: 'one',
      text: 'SELECT id, name, amount FROM bench_one WHERE id = $1',
      values: [id],
    });
    return { data: rows };
  });
} else {
  const { hostname, port, username, password, pathname } = new URL(url);
  const pool = mysql.createPool({
    host: hostname,
    port: Number(port),
    user: username,
    password: decodeURIComponent(password),
    database: pathname.slice(1),
    connectionLimit: 10,
  });
  app.post('/', async (request) => {
    if (size === 'large') return (await pool.query('SELECT * FROM bench_rows'))[0];
    const { id } = request.body as { id: number };
    const [rows] = await pool.execute('SELECT id, name, amount FROM bench_one WHERE id = ?', [id]);
    return { data: rows };
  });
}

await app.listen({ port: 0, host: '127.0.0.1' });
const { port } = app.server.address() as { port: number };
serve({
  url: `http://127.0.0.1:${port}/`,
  headers: { 'x-service-api-key': key, 'content-type': 'application/json' },
  body: '{"id":7}',
});
