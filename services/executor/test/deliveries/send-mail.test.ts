import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';
import { afterEach, expect, it } from 'vitest';
import { createMailer, type Mailer } from '../../src/deliveries/send-mail.ts';

let server: SMTPServer;
let mailer: Mailer;
const received: { to: string[]; from: string; source: string }[] = [];
const logIns: string[] = [];

async function open(
  options: {
    refuses?: boolean;
    refusesHub?: 'log-in' | 'sender';
    hangs?: boolean;
    answersAfterMs?: number;
  } = {},
): Promise<void> {
  server = new SMTPServer({
    ...{ authOptional: false, allowInsecureAuth: true, disabledCommands: ['STARTTLS'], logger: false },
    onAuth: ({ username, password }, _session, done) => {
      logIns.push(`${username} ${password}`);
      if (options.refusesHub === 'log-in') done(Object.assign(new Error('expired'), { responseCode: 535 }));
      else done(null, { user: username });
    },
    onMailFrom: (_address, _session, done) =>
      done(
        options.refusesHub === 'sender'
          ? Object.assign(new Error('quota exceeded'), { responseCode: 550 })
          : null,
      ),
    onRcptTo: (_address, _session, done) => {
      if (options.refuses) done(Object.assign(new Error('no such mailbox'), { responseCode: 550 }));
      else if (!options.hangs) setTimeout(done, options.answersAfterMs ?? 0);
    },
    onData: async (stream, { envelope }, done) => {
      const source = await text(stream);
      const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address;
      received.push({ from, to: envelope.rcptTo.map(({ address }) => address), source });
      done();
    },
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.server.address() as AddressInfo;
  mailer = createMailer({
    server: `smtp://127.0.0.1:${port}`,
    ...{ user: 'hub', password: 'word', from: 'Data Hub <hub@example.com>' },
  });
}
afterEach(async () => {
  mailer.close();
  received.length = 0;
  logIns.length = 0;
  await new Promise<void>((resolve) => server.close(resolve));
});

const never = new AbortController().signal;
const send = async (subject = 'New orders', signal = never, accountId = 'a') => {
  using _place = await mailer.place(accountId, never);
  return await mailer.send(
    {
      id: 'dh.dlv.one',
      to: 'ann@example.org',
      body: JSON.stringify({ subject, text: 'one line\n' }),
      unsubscribeUrl: 'https://hub.example/mail/token/',
    },
    signal,
  );
};

it('sends to one recipient, with one id and a link that ends the mails with one click', async () => {
  await open();
  expect([await send(), await send()]).toEqual([250, 250]);
  expect(logIns).toEqual(['hub word']);
  const [first, second] = received;
  expect(first).toMatchObject({ from: 'hub@example.com', to: ['ann@example.org'] });
  for (const line of [
    'From: Data Hub <hub@example.com>',
    'To: ann@example.org',
    'Subject: New orders',
    'Message-ID: <dh.dlv.one@example.com>',
    'List-Unsubscribe: <https://hub.example/mail/token/>',
    'List-Unsubscribe-Post: List-Unsubscribe=One-Click',
    'Auto-Submitted: auto-generated',
    'one line',
  ])
    expect(`${first?.source}`.split('\r\n')).toContain(line);
  expect(second?.source).toContain('Message-ID: <dh.dlv.one@example.com>');
});

it('adds no header and no recipient by a subject', async () => {
  await open();
  await send('a\r\nBcc: eve@example.org\r\n\r\nbody');
  expect(received[0]?.to).toEqual(['ann@example.org']);
  const [head = ''] = (received[0]?.source ?? '').split('\r\n\r\n');
  expect(head.split('\r\n').filter((line) => /^bcc/i.test(line))).toEqual([]);
});

it('says with which code the server refused, and gives up at the end of the attempt', async () => {
  await open({ refuses: true });
  expect(await send()).toBe(550);
  await new Promise<void>((resolve) => server.close(resolve));
  await expect(send()).rejects.toThrow();
  await open({ hangs: true });
  await expect(send('x', AbortSignal.timeout(200))).rejects.toThrow();
  mailer.close();
});

it.each([
  ['log-in', 535],
  ['sender', 550],
] as const)('takes a refused %s for no refusal of the mail', async (refusesHub, code) => {
  await open({ refusesHub });
  await expect(send()).rejects.toMatchObject({
    code: 'CONFLICT',
    message: `The operator's mail server refused the hub with ${code}.`,
  });
});

it('serves accounts in turn', async () => {
  await open({ answersAfterMs: 20 });
  await Promise.all([...[1, 2, 3, 4, 5].map((i) => send(`a${i}`)), send('b', never, 'b')]);
  const subjects = received.map(({ source }) => /Subject: (.*)\r/.exec(source)?.[1]);
  expect(subjects.indexOf('b')).toBeLessThan(4);
});

it('sends nothing after the end of the attempt, and serves the mails that waited', async () => {
  await open({ answersAfterMs: 300 });
  const ended = [1, 2, 3].map((i) => send(`ended ${i}`, AbortSignal.timeout(150)));
  const waited = send('waited');
  for (const { status } of await Promise.allSettled(ended)) expect(status).toBe('rejected');
  expect(await waited).toBe(250);
  await new Promise((resolve) => setTimeout(resolve, 400));
  expect(received.map(({ source }) => /Subject: (.*)\r/.exec(source)?.[1])).toEqual(['waited']);
});
