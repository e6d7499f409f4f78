/** Reads all rows of a query with the client, and prints how many there were and how much memory that took. */

import { createClient } from '../dist/index.js';

const { HUB_URL: url, HUB_KEY: key, QUERY_ID: queryId, COUNT: n } = process.env;
let [rows, lastId, heapMax] = [0, 0, 0];
for await (const { id } of createClient({ url, key }).rows(queryId, { n: Number(n) })) {
  rows++;
  lastId = id;
  if (rows % 10_000 === 0) heapMax = Math.max(heapMax, process.memoryUsage().heapUsed);
}
const { maxRSS } = process.resourceUsage();
process.stdout.write(JSON.stringify({ rows, lastId, heapMax, maxRSS: maxRSS * 1024 }));
