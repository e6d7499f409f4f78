/** Destinations that are mail addresses, with a real SMTP server. */

import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { freePort } from '@datahub/service-kit/process/free-port';
import { SMTPServer } from 'smtp-server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Hub, openHub } from '../../services/hub/src/compose.ts';
import { type Api, createApi } from '../support/api.ts';
import { accessOf } from '../support/databases.ts';
import { hubSettings } from '../support/spawned.ts';

const { POSTGRES_URL } = process.env;

describe.skipIf(POSTGRES_URL === undefined)('mail (needs POSTGRES_URL)', () => {
  const key = `test-key-${randomBytes(24).toString('hex')}`;
  let dir: string;
  let server: SMTPServer;
  let hub: Hub;
  let api: Api;
  let hubId: string;
  let queryId: string;
  const mails: { to: string; source: string }[] = [];

  beforeAll(async () => {
    server = new SMTPServer({
      ...{ authOptional: true, disabledCommands: ['STARTTLS', 'AUTH'], logger: false },
      onData: async (stream, { envelope }, done) => {
        const source = (await text(stream)).replaceAll('=\r\n', '').replaceAll('=3D', '=');
        mails.push({ to: envelope.rcptTo[0]?.address ?? '', source });
        done();
      },
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    dir = await mkdtemp(join(tmpdir(), 'datahub-mail-'));
    const port = await freePort();
    hub = await openHub({
      ...hubSettings(dir, key),
      ...{ PORT: String(port), DATAHUB_DEMO: '0', DATAHUB_EDGE: 'none' },
      DATAHUB_MAIL_SERVER: `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`,
      DATAHUB_MAIL_FROM: 'Data Hub <hub@example.com>',
      DATAHUB_MAIL_URL: `http://127.0.0.1:${port}`,
      DATAHUB_MAIL_DOMAINS: 'trusted.example',
      DATAHUB_MAIL_HOURLY_MAX: '6',
    });
    api = createApi({ url: hub.url, key });
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: 'mail' })));
    const connectionSettings = accessOf(POSTGRES_URL as string);
    const source = { hubId, label: 's', engine: 'postgres', connectionSettings };
    const { sourceId } = await api.ok(api.post('/v1/sources', source));
    const query = { hubId, sourceId, label: 'q', query: 'SELECT 9007199254740993 AS big' };
    queryId = (await api.ok(api.post('/v1/queries', query))).config.query.queryId;
  });
  afterAll(async () => {
    await hub?.close();
    await new Promise<void>((resolve) => server.close(resolve));
    await rm(dir, { recursive: true, force: true });
  });

  const create = async (mailTo: string, more: object = {}): Promise<string> => {
    const made = await api.ok(api.post('/v1/destinations', { label: 'd', mailTo, hubIds: [hubId], ...more }));
    expect(Object.keys(made)).toEqual(['destinationId']);
    return made.destinationId;
  };
  const one = async (destinationId: string) =>
    (await api.ok(api.get('/v1/destinations'))).find((found: any) => found.destinationId === destinationId);
  const sentTo = (to: string) => mails.filter((mail) => mail.to === to);
  const nextTo = async (to: string, count: number) => {
    await expect.poll(() => sentTo(to).length, { timeout: 30_000, interval: 50 }).toBe(count);
    return sentTo(to)[count - 1]?.source ?? '';
  };
  const linkIn = (source: string) =>
    /http:\/\/\S+\/mail\/\S+\//.exec(source.split('\r\n\r\n').slice(1).join('\n'))?.[0];
  const firing = (to: string[]) =>
    api.ok(
      api.post('/v1/watches', {
        ...{
          hubId,
          queryId,
          label: 'Big ones',
          when: { column: 'big', is: '>', value: 1 },
          include: ['big'],
        },
        ...{ schedule: { cron: '0 0 1 1 *', timeZone: 'UTC' }, to },
      }),
    );
  const run = async (to: string[]) => {
    const { watchId } = await firing(to);
    const { runId } = await api.ok(api.post(`/v1/watches/${watchId}/run`));
    const statusOf = async () => (await api.get(`/v1/watches/${watchId}/runs/${runId}`)).status;
    await expect.poll(statusOf, { timeout: 30_000, interval: 50 }).toBe(200);
  };

  it('sends nothing before the recipient has confirmed, and nothing after it ended the mails', async () => {
    const destinationId = await create('ann@example.org', { label: 'Buy this' });
    const asked = await nextTo('ann@example.org', 1);
    // What an account writes must not reach strangers.
    expect(asked).not.toContain('Buy this');
    const link = linkIn(asked) as string;
    expect(await one(destinationId)).toMatchObject({
      kind: 'mail',
      mailTo: 'ann@example.org',
      confirmedAt: null,
    });
    expect(JSON.stringify(await one(destinationId))).not.toContain(link.split('~')[2]?.slice(0, -1));
    await run([destinationId]);
    // A program that looks for harmful links opens it.
    const page = await fetch(link);
    expect([page.status, page.headers.get('content-security-policy')]).toEqual([
      200,
      expect.stringContaining("frame-ancestors 'none'"),
    ]);
    expect(await page.text()).toContain('Send me these mails');
    expect((await one(destinationId)).confirmedAt).toBeNull();
    expect(sentTo('ann@example.org')).toHaveLength(1);

    expect((await fetch(`${link}confirm`, { method: 'POST' })).status).toBe(200);
    expect((await one(destinationId)).confirmedAt).not.toBeNull();
    await run([destinationId]);
    const told = await nextTo('ann@example.org', 2);
    expect(told).toContain('Subject: Data Hub: Big ones is firing');
    expect(told).toContain('{"big":"9007199254740993"}');
    const [, oneClick = ''] = /List-Unsubscribe: <([^>]+)>/.exec(told.replaceAll('\r\n ', '')) ?? [];
    expect(oneClick).toBe(link);

    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const ended = await fetch(oneClick, { method: 'POST', headers, body: 'List-Unsubscribe=One-Click' });
    expect(ended.status).toBe(200);
    expect(await one(destinationId)).toMatchObject({
      disabled: true,
      disabledBecause: 'The recipient ended the mails.',
    });
    const put = { label: 'd', mailTo: 'ann@example.org', hubIds: [hubId], disabled: true };
    for (const disabled of [undefined, false]) {
      const refused = await api.put(`/v1/destinations/${destinationId}`, { ...put, disabled });
      expect([refused.status, refused.body.detail]).toEqual([
        409,
        expect.stringContaining('Only the recipient'),
      ]);
    }
    const kept = await api.ok(api.put(`/v1/destinations/${destinationId}`, put));
    expect([kept.disabled, kept.disabledBecause]).toEqual([true, 'The recipient ended the mails.']);
    const elsewhere = { ...put, mailTo: 'zoe@example.org' };
    expect((await api.put(`/v1/destinations/${destinationId}`, elsewhere)).status).toBe(409);
    const again = await api.post('/v1/destinations', { ...put, mailTo: 'Ann@example.org' });
    expect([again.status, again.body.detail]).toEqual([409, expect.stringContaining('ended the mails')]);
    const deleted = await api.delete(`/v1/destinations/${destinationId}`);
    expect([deleted.status, deleted.body.detail]).toEqual([409, expect.stringContaining('as the record')]);
    // The record outlives the hub of the destination.
    const { hubId: gone } = await api.ok(api.post('/v1/hubs', { label: 'gone' }));
    await api.ok(api.put(`/v1/destinations/${destinationId}`, { ...put, hubIds: [gone] }));
    await api.ok(api.delete(`/v1/hubs/${gone}?recursive=true`));
    expect((await api.post('/v1/destinations', put)).status).toBe(409);
    await api.ok(api.put(`/v1/destinations/${destinationId}`, put));
    await run([destinationId]);
    expect((await api.post(`/v1/destinations/${destinationId}/test`)).status).toBe(409);
    const made = await api.ok(api.get(`/v1/deliveries?destinationId=${destinationId}`));
    for (const { deliveryId, type } of made) {
      const { status } = await api.post(`/v1/deliveries/${deliveryId}/redeliver`);
      expect([type, status]).toEqual([type, type === 'destination.confirm' ? 409 : 200]);
    }
    const states = async () => {
      const all = await api.ok(api.get(`/v1/deliveries?destinationId=${destinationId}`));
      return all.map(({ type, state }: { type: string; state: string }) => `${type} ${state}`);
    };
    await expect
      .poll(states, { timeout: 30_000 })
      .toEqual(['watch.firing failed', 'destination.confirm delivered']);
    expect(sentTo('ann@example.org')).toHaveLength(2);
    const wrong = link.replace(/~[0-9a-f]{8}/, '~00000000');
    expect((await fetch(`${wrong}confirm`, { method: 'POST' })).status).toBe(404);
  });

  it('asks no recipient whose domain the operator trusts, and sends no more than the hour allows', async () => {
    for (const mailTo of [
      'a@b@c.example',
      'a@example.org, b@example.org',
      'Ann <a@example.org>',
      'a@\nexample.org',
    ])
      expect((await api.post('/v1/destinations', { label: 'd', mailTo })).body.errors?.[0]?.pointer).toBe(
        '/mailTo',
      );
    for (const mailTo of ['ä@example.org', 'a@bücher.example', 'a@example.\u212aom'])
      expect((await api.post('/v1/destinations', { label: 'd', mailTo })).body.errors).toEqual([
        { pointer: '/mailTo', detail: expect.stringContaining('must be in ASCII') },
      ]);
    const both = { label: 'd', mailTo: 'a@example.org', url: 'https://example.org/' };
    expect((await api.post('/v1/destinations', both)).status).toBe(400);
    const destinationId = await create('bob@trusted.example');
    for (let i = 0; i < 6; i++) await api.ok(api.post(`/v1/destinations/${destinationId}/test`));
    const first = await nextTo('bob@trusted.example', 4);
    expect(first).toContain('Subject: Data Hub: d destination.test');
    const waits = async () => {
      const pending = await api.ok(api.get(`/v1/deliveries?destinationId=${destinationId}&state=pending`));
      return pending.map(({ nextAt }: { nextAt: string }) => Date.parse(nextAt) % 3_600_000);
    };
    // A mail may arrive before its delivery is noted. Those that wait come one after the other.
    await expect.poll(waits, { timeout: 30_000 }).toEqual([100, 50]);
  });

  it('asks one who has not agreed three times a day, by whichever destination', async () => {
    const first = await create('eve@example.org');
    await create('Eve@example.org');
    await api.ok(api.post(`/v1/destinations/${first}/test`));
    const again = await api.post(`/v1/destinations/${first}/test`);
    expect([again.status, again.body.code]).toEqual([429, 'RATE_LIMITED']);
    await api.ok(api.delete(`/v1/destinations/${first}`));
    const more = await api.post('/v1/destinations', {
      label: 'd',
      mailTo: 'eve@example.org',
      hubIds: [hubId],
    });
    expect([more.status, more.body.detail]).toEqual([429, expect.stringContaining('asked 3 times today')]);
  });
});
