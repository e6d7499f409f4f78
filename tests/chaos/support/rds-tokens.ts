/**
 * Checks the signature and the time of an RDS IAM token as AWS does, without the library that signs. PostgreSQL sends
 * each password to this fake LDAP server, as RDS sends it to IAM.
 */

import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

export interface TokenRules {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
  region: string;
  /** `host:port` of the database. */
  address: string;
  user: string;
}

/** Returns the reason why AWS would refuse the token; undefined if it would accept it. */
export function faultOfToken(token: string, rules: TokenRules, nowMs: number): string | undefined {
  const [address = '', text = ''] = token.split('/?');
  const pairs = text.split('&').map((pair) => pair.split('=').map(decodeURIComponent) as [string, string]);
  const query = new Map(pairs);
  const date = query.get('X-Amz-Date') ?? '';
  const day = date.slice(0, 8);
  const expected: Record<string, string | undefined> = {
    Action: 'connect',
    DBUser: rules.user,
    'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
    'X-Amz-Credential': `${rules.accessKeyId}/${day}/${rules.region}/rds-db/aws4_request`,
    'X-Amz-SignedHeaders': 'host',
    'X-Amz-Security-Token': rules.sessionToken,
  };
  if (address !== rules.address) return `is for ${address}`;
  for (const [name, value] of Object.entries(expected))
    if (query.get(name) !== value) return `has another ${name}`;
  const age =
    nowMs - Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
  if (!(age > -60_000 && age < Number(query.get('X-Amz-Expires')) * 1_000))
    return 'is not valid at this time';
  return query.get('X-Amz-Signature') === signatureOf(pairs, rules, { date, day })
    ? undefined
    : 'is signed wrongly';
}

const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const encode = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);

/** Signature Version 4 of a URL, as AWS documents it. */
function signatureOf(
  pairs: [string, string][],
  { secretAccessKey, region, address }: TokenRules,
  { date, day }: { date: string; day: string },
): string {
  const signed = pairs
    .filter(([name]) => name !== 'X-Amz-Signature')
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort();
  const request = ['GET', '/', signed.join('&'), `host:${address}`, '', 'host', sha256('')].join('\n');
  const scope = `${day}/${region}/rds-db/aws4_request`;
  const keys = [day, region, 'rds-db', 'aws4_request'];
  const key = keys.reduce<string | Buffer>((last, part) => hmac(last, part), `AWS4${secretAccessKey}`);
  return hmac(key, ['AWS4-HMAC-SHA256', date, scope, sha256(request)].join('\n')).toString('hex');
}

export interface LdapServer {
  port: number;
  close(): void;
}

/** Answers binds of LDAP (RFC 4511): the password must be accepted by `check`. */
export async function startLdap(check: (password: string) => boolean): Promise<LdapServer> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    let bytes = Buffer.alloc(0);
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      const message = elementAt(bytes, 0);
      if (message === undefined) return;
      const id = elementAt(message.content, 0);
      const operation = elementAt(message.content, id?.end ?? 0);
      bytes = bytes.subarray(message.end);
      if (id === undefined || operation?.tag !== bindRequest) return;
      const version = elementAt(operation.content, 0);
      const name = elementAt(operation.content, version?.end ?? 0);
      const password = elementAt(operation.content, name?.end ?? 0)?.content.toString() ?? '';
      const code = check(password) ? success : invalidCredentials;
      const result = Buffer.from([bindResponse, 7, 0x0a, 1, code, 0x04, 0, 0x04, 0]);
      const number = Buffer.concat([Buffer.from([0x02, id.content.length]), id.content]);
      socket.write(Buffer.concat([Buffer.from([0x30, number.length + result.length]), number, result]));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

const [bindRequest, bindResponse, success, invalidCredentials] = [0x60, 0x61, 0, 49];

interface Element {
  tag: number;
  content: Buffer;
  end: number;
}

/** Reads a BER element with a definite length; undefined if it is incomplete. */
function elementAt(bytes: Buffer, start: number): Element | undefined {
  const first = bytes[start + 1];
  if (first === undefined) return undefined;
  const lengthBytes = first < 0x80 ? 0 : first - 0x80;
  const from = start + 2 + lengthBytes;
  if (bytes.length < from) return undefined;
  const length = lengthBytes === 0 ? first : bytes.readUIntBE(start + 2, lengthBytes);
  const end = from + length;
  return bytes.length < end
    ? undefined
    : { tag: bytes[start] as number, content: bytes.subarray(from, end), end };
}
