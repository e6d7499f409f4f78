/** A name server for tests. */

import { createSocket } from 'node:dgram';
import { once } from 'node:events';

export interface NameServer {
  /** Of each question, in their order: `db.example A`. */
  asked: string[];
  /** Its address, as `Resolver.setServers` takes it. */
  at: string;
  close(): void;
}

const types = { 1: 'A', 16: 'TXT', 28: 'AAAA', 33: 'SRV' } as const;
/** Codes of answers without a record. */
const codes = { none: 0, unknown: 3, refused: 5 };

/**
 * Over UDP (RFC 1035). It knows these records, as bytes, and no others, refuses and ignores what is `refused` and
 * `ignored`, and is silent on names with a label that begins with `slow`.
 */
export async function startNameServer(
  records: Record<string, number[][] | 'refused' | 'ignored'>,
): Promise<NameServer> {
  const asked: string[] = [];
  const server = createSocket('udp4').on('message', (query, { port, address }) => {
    const end = query.indexOf(0, 12);
    const name = String(query.subarray(13, end)).replace(/[^a-z]/g, '.');
    const question = `${name} ${types[query.readUInt16BE(end + 1) as keyof typeof types]}`;
    asked.push(question);
    const found = records[question] ?? [];
    if (/(^|\.)slow/.test(name) || found === 'ignored') return;
    const answers = (found === 'refused' ? [] : found).map((bytes) =>
      Buffer.from([0xc0, 12, ...query.subarray(end + 1, end + 5), 0, 0, 0, 60, 0, bytes.length, ...bytes]),
    );
    const isKnown = Object.keys(records).some((known) => known.startsWith(`${name} `));
    const flags = [0x81, 0x80 + codes[found === 'refused' ? found : isKnown ? 'none' : 'unknown']];
    const counts = [0, 1, 0, answers.length, 0, 0, 0, 0];
    const header = Buffer.from([...query.subarray(0, 2), ...flags, ...counts]);
    server.send(Buffer.concat([header, query.subarray(12, end + 5), ...answers]), port, address);
  });
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
  return { asked, at: `127.0.0.1:${server.address().port}`, close: () => server.close() };
}
