/** The body of a delivery: the form of Standard Webhooks, that of a chat product's incoming webhooks, or a mail. */

import { elementsOf, membersOf } from '@datahub/contract/json-text';
import { type EventFacts, eventParts } from '@datahub/contract/watches';

interface Told {
  type: string;
  at: number;
  dataJson: string;
}

/** `hubUrl` is for the links of mails. */
export function bodyOf(
  template: 'slack' | 'mail' | undefined,
  { type, at, dataJson }: Told,
  hubUrl = '',
): string {
  if (template === 'slack')
    return JSON.stringify({ text: plain(eventParts(type, JSON.parse(dataJson)).join(': ')) });
  if (template === 'mail') return mailOf({ type, at, dataJson }, hubUrl);
  // The data stays as it is written, so that no digit of a number is lost.
  const head = JSON.stringify({ type, timestamp: new Date(at).toISOString() });
  return `${head.slice(0, -1)},"data":${dataJson}}`;
}

/** Chat products read `&`, `<` and `>` as markup. */
const plain = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** A header has no values of rows, and no reason in words, which can contain some. */
function mailOf({ type, at, dataJson }: Told, hubUrl: string): string {
  const { detail: _, ...data } = JSON.parse(dataJson) as EventFacts;
  // Mail programs decode what begins with `=?`.
  const subject = `Data Hub: ${eventParts(type, data).join(': ')}`
    .replaceAll(/\p{Cc}/gu, ' ')
    .replaceAll('=?', '= ?');
  const members = membersOf(dataJson);
  // A broken line is a fault of the hub; then the mail has its subject.
  const lines =
    typeof members === 'string'
      ? []
      : [...members].map(([name, value]) => `${name}: ${linkIn(name, hubUrl)}${shown(value)}`);
  const text = [subject, '', `at: ${new Date(at).toISOString()}`, ...lines, ''].join('\n');
  return JSON.stringify({ subject, text });
}

/** A mail is read where no address of the hub is known. */
const linkIn = (name: string, hubUrl: string): string =>
  name === 'rowsUrl' ? hubUrl.replace(/\/$/, '') : '';

/** Texts without quotes; each row in a line, with the digits of its numbers. */
function shown(json: string): string {
  if (json.startsWith('"')) return JSON.parse(json);
  return json.startsWith('[') ? `[${elementsOf(json).join(',\n  ')}]` : json;
}

/** The mail that asks a recipient. */
export const confirmationOf = (hubUrl: string, link: string): string =>
  JSON.stringify({
    subject: 'Data Hub: do you want mails from it?',
    text: `Somebody wants the Data Hub at ${hubUrl} to send mails about events to this address.\n\nTo agree, or to be asked no more, open this page:\n${link}\n\nIf you do nothing, it sends no more mails.\n`,
  });
