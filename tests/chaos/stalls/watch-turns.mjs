/**
 * Preloaded into a hub: measures how long its main thread computes between two turns of a timer, which is how long other
 * requests wait. It counts CPU time, so the load of the machine does not matter. A GET to `WATCH_TURNS_PORT` returns the
 * longest time and the most memory since the last GET.
 */

import { createServer } from 'node:http';
import { isMainThread } from 'node:worker_threads';

const intervalMs = 2;

if (isMainThread && process.env.WATCH_TURNS_PORT !== undefined) {
  let cpu = process.threadCpuUsage();
  let longestMs = 0;
  let mostBytes = 0;
  const look = () => {
    const { user, system } = process.threadCpuUsage(cpu);
    longestMs = Math.max(longestMs, (user + system) / 1_000);
    const { heapUsed, external } = process.memoryUsage();
    mostBytes = Math.max(mostBytes, heapUsed + external);
    cpu = process.threadCpuUsage();
  };
  setInterval(look, intervalMs).unref();
  const server = createServer((_request, response) => {
    look();
    response.end(JSON.stringify({ longestMs, mostBytes }));
    const { heapUsed, external } = process.memoryUsage();
    [longestMs, mostBytes] = [0, heapUsed + external];
    cpu = process.threadCpuUsage();
  });
  server.listen(Number(process.env.WATCH_TURNS_PORT), '127.0.0.1').unref();
}
