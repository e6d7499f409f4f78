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
const unknownName = 3;

/** Over UDP (RFC 1035). It knows these addresses, as bytes, and no others, and is silent on names with a label that begins with `slow`. */
export async function startNameServer(records: Record<string, number[][]>): Promise<NameServer> {
  const asked: string[] = [];
  const server = createSocket('udp4').on('message', (query, { port, address }) => {
    const end = query.indexOf(0, 12);
    const name = String(query.subarray(13, end)).replace(/[^a-z]/g, '.');
    const question = `${name} ${types[query.readUInt16BE(end + 1) as keyof typeof types]}`;
    asked.push(question);
    if (/(^|\.)slow/.test(name)) return;
    const answers = (records[question] ?? []).map((bytes) =>
      Buffer.from([0xc0, 12, ...query.subarray(end + 1, end + 5), 0, 0, 0, 60, 0, bytes.length, ...bytes]),
    );
    const flags = [0x81, 0x80 + (answers.length > 0 ? 0 : unknownName)];
    const counts = [0, 1, 0, answers.length, 0, 0, 0, 0];
    const header = Buffer.from([...query.subarray(0, 2), ...flags, ...counts]);
    server.send(Buffer.concat([header, query.subarray(12, end + 5), ...answers]), port, address);
  });
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
  return { asked, at: `127.0.0.1:${server.address().port}`, close: () => server.close() };
}
