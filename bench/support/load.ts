/** A closed-loop load with a fixed number of requests in flight. */

import { Agent, request } from 'node:http';
import type { Server } from './child.ts';
import { median, quantile } from './table.ts';

export interface Load {
  perSecond: number;
  /** CPU of the server for one request, in microseconds. */
  cpuMicros: number;
  p50Ms: number;
  p99Ms: number;
}

export async function load(server: Server, options: { seconds: number; inFlight: number }): Promise<Load> {
  const agent = new Agent({ keepAlive: true, maxSockets: options.inFlight });
  const times: number[] = [];
  const cpuBefore = await server.cpu();
  const began = performance.now();
  const endsAt = began + options.seconds * 1_000;
  const worker = async () => {
    while (performance.now() < endsAt) {
      const startedAt = performance.now();
      await once(server, agent);
      times.push(performance.now() - startedAt);
    }
  };
  await Promise.all(Array.from({ length: options.inFlight }, worker));
  const elapsed = performance.now() - began;
  const cpu = (await server.cpu()) - cpuBefore;
  agent.destroy();
  return {
    perSecond: (times.length * 1_000) / elapsed,
    cpuMicros: cpu / times.length,
    p50Ms: median(times),
    p99Ms: quantile(times, 0.99),
  };
}

/** Time for V8 to compile the hot code, which takes up to 25 s under load. */
const warmUpSeconds = 25;

/** Sequentially, so that the servers do not compete for CPU. */
export async function warmUp(servers: readonly Server[], inFlight: number): Promise<void> {
  for (const server of servers) await load(server, { seconds: warmUpSeconds, inFlight });
}

export interface Received {
  ms: number;
  firstByteMs: number;
  bytes: number;
}

/** Sends one request and reads the whole response. */
export function once(
  { url, headers, body }: Pick<Server, 'url' | 'headers' | 'body'>,
  agent?: Agent,
): Promise<Received> {
  return new Promise((resolve, reject) => {
    const startedAt = performance.now();
    let firstByteMs = 0;
    let bytes = 0;
    const call = request(url, {
      method: 'POST',
      headers: { ...headers, 'content-length': body.length },
      ...(agent ? { agent } : {}),
    });
    call.on('error', reject);
    call.on('response', (response) => {
      if (response.statusCode !== 200) reject(new Error(`Status ${response.statusCode}`));
      response.on('data', (chunk: Buffer) => {
        if (bytes === 0) firstByteMs = performance.now() - startedAt;
        bytes += chunk.length;
      });
      response.on('error', reject);
      response.on('end', () => resolve({ ms: performance.now() - startedAt, firstByteMs, bytes }));
    });
    call.end(body);
  });
}
