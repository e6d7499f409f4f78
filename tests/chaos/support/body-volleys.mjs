/** As a process of its own: volleys of large bodies. Arguments: the hub's URL, a key, the path, volleys, bodies in each. */

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
    sent.on('error', reject).end(body);
  });

const statuses = [];
for (let i = 0; i < Number(volleys); i++)
  statuses.push(...(await Promise.all(Array.from({ length: Number(bodies) }, send))));
process.stdout.write(JSON.stringify([...new Set(statuses)].sort()));
process.exit(0);
