import { Webhook } from 'standardwebhooks';
import { describe, expect, it, vi } from 'vitest';
import { verifyWebhook, WebhookError } from '../dist/webhooks.js';

const secret = `whsec_${btoa('a secret of the destination')}`;
const event = {
  type: 'watch.rows',
  timestamp: '2026-11-28T00:00:00Z',
  data: { label: 'Größe', rowCount: 2 },
};
const body = JSON.stringify(event);

/** The headers of an independent implementation. */
const headersOf = (signer = secret, at = new Date()) => ({
  'webhook-id': 'dh.dlv.1',
  'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
  'webhook-signature': new Webhook(signer).sign('dh.dlv.1', at, body),
});
const refused = (reason: string) => expect.objectContaining({ name: 'WebhookError', message: reason });

describe('verifyWebhook', () => {
  it('returns the event with its id, from text or bytes, and any form of headers', async () => {
    const expected = { id: 'dh.dlv.1', ...event };
    const headers = headersOf();
    const capitals = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]),
    );
    for (const one of [headers, capitals, new Headers(headers)])
      expect(await verifyWebhook(secret, { headers: one, body })).toEqual(expected);
    expect(await verifyWebhook(secret, { headers, body: Buffer.from(body) })).toEqual(expected);
  });

  it('accepts either secret while one is replaced', async () => {
    const next = `whsec_${btoa('the next secret')}`;
    const at = new Date();
    const both = [headersOf(next, at), headersOf(secret, at)].map((one) => one['webhook-signature']);
    const headers = { ...headersOf(secret, at), 'webhook-signature': `v1a,x v1,%% ${both.join(' ')}` };
    for (const one of [secret, next])
      expect(await verifyWebhook(one, { headers, body })).toMatchObject({ type: 'watch.rows' });
  });

  it('reads the body once, however many signatures there are', async () => {
    const sign = vi.spyOn(crypto.subtle, 'sign');
    const verify = vi.spyOn(crypto.subtle, 'verify');
    const headers = {
      ...headersOf(),
      'webhook-signature': Array(300)
        .fill(`v1,${btoa('none')}`)
        .join(' '),
    };
    await expect(verifyWebhook(secret, { headers, body })).rejects.toBeInstanceOf(WebhookError);
    expect(sign.mock.calls.length + verify.mock.calls.length).toBe(1);
  });

  it('refuses another body, id, time or secret, and a request of more than five minutes ago', async () => {
    const headers = headersOf();
    const unsigned = refused('No signature of the request is by this secret.');
    const other = `whsec_${btoa('another')}`;
    await expect(verifyWebhook(other, { headers, body })).rejects.toEqual(unsigned);
    await expect(verifyWebhook(secret, { headers, body: `${body} ` })).rejects.toEqual(unsigned);
    const changes = [
      { 'webhook-id': 'dh.dlv.2' },
      { 'webhook-timestamp': `${Number(headers['webhook-timestamp']) - 1}` },
      { 'webhook-signature': headers['webhook-signature'].replace('v1,', 'v2,') },
    ];
    for (const change of changes)
      await expect(verifyWebhook(secret, { headers: { ...headers, ...change }, body })).rejects.toEqual(
        unsigned,
      );
    const late = refused('The time of the request differs by more than 300 s.');
    for (const seconds of [-310, 310]) {
      const at = new Date(Date.now() + seconds * 1_000);
      await expect(verifyWebhook(secret, { headers: headersOf(secret, at), body })).rejects.toEqual(late);
    }
    const noTime = { ...headers, 'webhook-timestamp': 'now' };
    await expect(verifyWebhook(secret, { headers: noTime, body })).rejects.toEqual(late);
  });

  it.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])(
    'names the header %s that is missing',
    async (name) => {
      const headers = { ...headersOf(), [name]: undefined };
      await expect(verifyWebhook(secret, { headers, body })).rejects.toEqual(
        refused(`The request has no header ${name}.`),
      );
      await expect(verifyWebhook(secret, { headers, body })).rejects.toBeInstanceOf(WebhookError);
    },
  );

  it('tells mistakes of the receiver from those of the sender', async () => {
    const headers = headersOf();
    for (const wrong of ['', 'whsec_', 'whsec_%', 'a secret'])
      await expect(verifyWebhook(wrong, { headers, body })).rejects.toThrow(
        'does not have the form whsec_….',
      );
    const parsed = event as unknown as string;
    await expect(verifyWebhook(secret, { headers, body: parsed })).rejects.toThrow('that arrived');
  });
});
