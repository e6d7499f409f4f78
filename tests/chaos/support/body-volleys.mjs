/** As a process of its own: volleys of large bodies. Prints the statuses, 0 for a reset. Arguments: the hub's URL, a key, the path, volleys, bodies in each. */

import { Agent, request } from 'node:http';

const [url, key, path, volleys, bodies] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true });
const body = Buffer.from(`{"contexts":[${'{},'.repeat(2_600_000)}0]}`);
const headers = {
  'x-service-api-key': key,
  'content-type': 'application/json',
  'content-length': body.length,
};

const send = () =>
  new Promise((resolve, reject) => {
    const sent = request(url + path, { method: 'POST', agent, headers }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode));
    });
    // A hub that has refused a body reads on for a while only; then a client that still sends is reset.
    sent.on('error', (err) => (err.code === 'ECONNRESET' ? resolve(0) : reject(err))).end(body);
  });

const statuses = [];
for (let i = 0; i < Number(volleys); i++)
  statuses.push(...(await Promise.all(Array.from({ length: Number(bodies) }, send))));
process.stdout.write(JSON.stringify([...new Set(statuses)].sort()));
process.exit(0);
