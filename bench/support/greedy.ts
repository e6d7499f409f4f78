/** 200 executions of one query at once, in a process of its own; the responses are discarded. Arguments: URL, key, query id. */

import { Agent, request } from 'node:http';

const [, , url = '', key = '', queryId = ''] = process.argv;
const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
const body = JSON.stringify({ queryId, options: { timeoutMs: 20_000 } });
const headers = {
  'x-service-api-key': key,
  'content-type': 'application/json',
  'content-length': body.length,
};

/** The status, and Retry-After in seconds. */
function once(): Promise<[status: number, retryAfterS: number]> {
  return new Promise((resolve) => {
    const call = request(`${url}/v1/queries/execute`, { method: 'POST', agent, headers }, (response) => {
      response
        .resume()
        .on('close', () => resolve([response.statusCode ?? 0, Number(response.headers['retry-after'] ?? 1)]));
      response.on('error', () => {});
    });
    call.on('error', () => resolve([0, 1]));
    call.end(body);
  });
}

/** Repeats a rejected request after its Retry-After, or after one second. */
async function keepOn(): Promise<never> {
  for (;;) {
    const [status, retryAfterS] = await once();
    if (status !== 200) await new Promise((resolve) => setTimeout(resolve, retryAfterS * 1_000));
  }
}

for (let i = 0; i < 200; i++) void keepOn();
