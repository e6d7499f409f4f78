/** What a user would write instead: one Fastify process with `pg`, named statements and a key check. Arguments: URL, port, key. */

import Fastify from 'fastify';
import pg from 'pg';
import { cases, numbered } from './cases.ts';
import { connectionsMax } from './limits.ts';

const [, , connectionString = '', port, key] = process.argv;
const pool = new pg.Pool({ connectionString, max: connectionsMax });
const app = Fastify();
app.addHook('onRequest', async (request, reply) => {
  if (request.headers['x-service-api-key'] !== key) return reply.code(401).send();
});
for (const { name, sql, method } of cases) {
  const { text, names } = numbered(sql);
  app.route({
    method,
    url: `/${name}`,
    handler: async (request) => {
      const given = (method === 'GET' ? request.query : request.body) as Record<string, unknown>;
      const { rows } = await pool.query({ name, text, values: names.map((one) => given[one]) });
      return rows;
    },
  });
}
await app.listen({ port: Number(port), host: '127.0.0.1' });
