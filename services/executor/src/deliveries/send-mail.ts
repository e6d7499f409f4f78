/** Sends events as mail through the operator's SMTP server. The library is loaded with the first mail. */

import { onAbort, orAborted } from '@datahub/service-kit/call/abort';
import { HubError } from '@datahub/service-kit/call/error';
import { createFairSemaphore } from '@datahub/service-kit/fair-semaphore';
import type { Transporter } from 'nodemailer';

export interface MailSettings {
  /** `smtps://host:port` for TLS from the start, or `smtp://host:port`. */
  server: string;
  user: string | undefined;
  password: string | undefined;
  /** The sender. */
  from: string;
}

export interface Mail {
  /** Of the delivery: the same in each attempt. */
  id: string;
  to: string;
  /** A JSON object with `subject` and `text`. */
  body: string;
  /** One click ends the mails (RFC 8058). */
  unsubscribeUrl: string;
}

export interface Mailer {
  /** Waits for one of the connections to the server, for the accounts in turn. Rejects when `signal` aborts. */
  place(accountId: string, signal: AbortSignal): Promise<Disposable>;
  /**
   * For one who has a place. Resolves to the code of the server's answer to the mail. Rejects if there is none, with CONFLICT
   * if the server refused the hub. Once `signal` aborts, nothing more is sent.
   */
  send(mail: Mail, signal: AbortSignal): Promise<number>;
  close(): void;
}

const connectTimeoutMs = 10_000;
/** Servers let strangers wait before each answer. The attempt ends earlier. */
const answerTimeoutMs = 45_000;
const connectionsMax = 2;
const portDefault = { 'smtp:': 587, 'smtps:': 465 };
const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

export function createMailer(settings: MailSettings): Mailer {
  const places = createFairSemaphore({
    ...{ allMax: connectionsMax, accountMax: connectionsMax },
    waitingMax: Number.POSITIVE_INFINITY,
  });
  /** Each has one connection, which serves one mail at a time, so that the connection of a mail can be ended. */
  const idle: Transporter[] = [];
  return {
    place: async (accountId, signal) => ({ [Symbol.dispose]: await places.acquire(accountId, signal) }),
    send: async ({ id, to, body, unsubscribeUrl }, signal) => {
      const { subject, text } = JSON.parse(body) as { subject: string; text: string };
      const domain = settings.from.replace(/^.*@|>.*$/g, '');
      const transport = idle.pop() ?? (await open(settings));
      using _listening = onAbort(signal, () => transport.close({ force: true }));
      const sent = transport.sendMail({
        from: settings.from,
        // As an object, so that no address list is read from it.
        to: { name: '', address: to },
        subject,
        text,
        messageId: `<${id}@${domain}>`,
        headers: {
          'auto-submitted': 'auto-generated',
          'list-unsubscribe': { prepared: true, value: `<${unsubscribeUrl}>` },
          'list-unsubscribe-post': 'List-Unsubscribe=One-Click',
        },
      });
      try {
        return await orAborted(
          sent.then(({ response }) => codeOf(response), refusedWith),
          signal,
        );
      } finally {
        if (!signal.aborted) idle.push(transport);
      }
    },
    close: () => {
      for (const transport of idle.splice(0)) transport.close();
    },
  };
}

async function open({ server, user, password }: MailSettings): Promise<Transporter> {
  const { createTransport } = await import('nodemailer');
  const { protocol, hostname, port } = new URL(server);
  const secure = protocol === 'smtps:';
  return createTransport({
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port) || portDefault[protocol as keyof typeof portDefault],
    secure,
    // A password is never sent in plain text to another machine.
    requireTLS: !secure && password !== undefined && !loopback.test(hostname),
    ...(user === undefined ? {} : { auth: { user, pass: password ?? '' } }),
    connectionTimeout: connectTimeoutMs,
    greetingTimeout: answerTimeoutMs,
    socketTimeout: answerTimeoutMs,
    pool: true,
    maxConnections: 1,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

const codeOf = (response = ''): number => Number(/^\d{3}/.exec(response)?.[0] ?? 0);

/** Where a server refuses a recipient or a text. What it refuses before is the sender or the log-in, in any mail. */
const ofMail = ['RCPT TO', 'DATA'];

/** The code with which the server refused the mail, such as 550. Throws CONFLICT if it refused the hub. */
function refusedWith(err: { responseCode?: number; command?: string }): number {
  const { responseCode, command = '' } = err;
  if (responseCode === undefined) throw err;
  if (ofMail.includes(command)) return responseCode;
  throw new HubError('CONFLICT', `The operator's mail server refused the hub with ${responseCode}.`, {
    cause: err,
  });
}
