/** Fetches a JSON object over HTTPS. Redirects are not followed, and time and size are bounded. */

import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { isHttpsAddress } from '@datahub/contract/user-limit';
import { orAborted } from '@datahub/service-kit/call/abort';
import { HubError } from '@datahub/service-kit/call/error';
import type { Dial } from './dialer.ts';
import { connectTo, requestOver } from './http-request.ts';

const timeoutMs = 5_000;
const bytesMax = 65_536;

/** The errors of what could not be fetched. */
export interface FetchFaults {
  unreachable(cause: unknown): HubError;
  /** `reason`: what is wrong with the answer, such as `it is cut`. */
  unusable(reason: string, cause?: unknown): HubError;
}

export interface FetchDeps {
  /** Waits for its turn among the fetches of all accounts. Resolves with a function that ends the turn. */
  admit(signal: AbortSignal): Promise<() => void>;
  dial: Dial;
  signal: AbortSignal;
}

export type Fetching = Omit<FetchDeps, 'admit'>;

/** Runs fetches in one turn. `busy`: the error if there is no turn in time. */
export async function inTurn<T>(
  { admit, dial, signal }: FetchDeps,
  faults: FetchFaults & { busy(cause: unknown): HubError },
  fetchAll: (fetching: Fetching) => Promise<T>,
): Promise<T> {
  const fetching = { dial, signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]) };
  const leave = await admit(fetching.signal).catch((err) => {
    throw faults.busy(err);
  });
  try {
    return await fetchAll(fetching);
  } catch (err) {
    throw fetching.signal.aborted ? faults.unusable(`it took longer than ${timeoutMs / 1_000} s`, err) : err;
  } finally {
    leave();
  }
}

export async function fetchJsonObject(
  address: string,
  { dial, signal }: Fetching,
  faults: FetchFaults,
): Promise<Record<string, unknown>> {
  if (!isHttpsAddress(address, { query: true }))
    throw faults.unusable('it names an address that is not https');
  const url = new URL(address);
  const socket = await connectTo(url, { dial, signal }).catch((err) => {
    throw faults.unreachable(err);
  });
  try {
    const value = JSON.parse(await read(url, socket, { signal, faults })) as unknown;
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch (err) {
    throw err instanceof HubError ? err : faults.unusable('its answer was cut, or is not JSON', err);
  } finally {
    socket.destroy();
  }
  throw faults.unusable('its answer is not a JSON object');
}

function read(
  url: URL,
  socket: Socket,
  { signal, faults }: { signal: AbortSignal; faults: FetchFaults },
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const headers = { accept: 'application/json', 'accept-encoding': 'identity' };
  const refuse = ({ statusCode }: IncomingMessage) =>
    reject(faults.unusable(`it answered with the status ${statusCode}, and redirects are not followed`));
  requestOver(socket, url, { signal, headers })
    .on('response', (response) => {
      if (response.statusCode === 200) collect(response, faults).then(resolve, reject);
      else refuse(response);
    })
    .on('error', reject)
    // A 101 is no response to Node, and ends the request without an error.
    .on('upgrade', refuse)
    .end();
  return orAborted(promise, signal);
}

async function collect(response: IncomingMessage, faults: FetchFaults): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw faults.unusable(`its answer has more than ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
