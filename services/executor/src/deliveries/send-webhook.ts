/**
 * Sends one delivery as Standard Webhooks 1.0 defines it. Users choose the addresses, so the rules for addresses of sources
 * apply. Redirects are not followed, and of the answer only the status is read.
 */

import { createHmac } from 'node:crypto';
import type { Socket } from 'node:net';
import { orAborted } from '@datahub/service-kit/call/abort';
import type { Dial } from '../network/dialer.ts';
import { connectTo, requestOver } from '../network/http-request.ts';

export interface Webhook {
  /** The same in each attempt. */
  id: string;
  url: string;
  body: string;
  /** As `whsec_` and base64. */
  secrets: readonly string[];
}

export interface SendDeps {
  dial: Dial;
  signal: AbortSignal;
  nowMs(): number;
}

const prefix = 'whsec_';

/** The signatures with each secret, separated by spaces. */
export function signatureOf({ id, body, secrets }: Webhook, timestampS: number): string {
  const sign = (secret: string) => {
    const key = Buffer.from(secret.slice(prefix.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestampS}.${body}`).digest('base64')}`;
  };
  return secrets.map(sign).join(' ');
}

/** Resolves to the status of the answer. Rejects if there is none; the error says nothing of the address's network. */
export async function sendWebhook(webhook: Webhook, { dial, signal, nowMs }: SendDeps): Promise<number> {
  const url = new URL(webhook.url);
  const socket = await connectTo(url, { dial, signal });
  try {
    return await orAborted(post(webhook, { url, socket, timestampS: Math.floor(nowMs() / 1_000) }), signal);
  } finally {
    socket.destroy();
  }
}

function post(
  webhook: Webhook,
  { url, socket, timestampS }: { url: URL; socket: Socket; timestampS: number },
): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const sent = requestOver(socket, url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(webhook.body)),
      'user-agent': 'datahub',
      'webhook-id': webhook.id,
      'webhook-timestamp': String(timestampS),
      'webhook-signature': signatureOf(webhook, timestampS),
    },
  });
  // The caller destroys the socket, so that nothing of the body is read.
  sent.on('response', (response) => {
    response.on('error', () => {});
    resolve(response.statusCode ?? 0);
  });
  // A 101 is no response to Node, and ends the request without an error.
  sent.on('upgrade', () => resolve(101));
  sent.on('error', reject);
  sent.on('close', () => reject(new Error('The connection was closed before an answer.')));
  sent.end(webhook.body);
  return promise;
}
