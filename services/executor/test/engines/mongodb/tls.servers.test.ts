import { mkdtemp, readFile, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import { Binary, BSON, type Document } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Certificates, createAuthority } from '../../../../../tools/databases/certificates.ts';
import { findCommand } from '../../../../../tools/databases/process.ts';
import { createMongodbEngine } from '../../../src/engines/mongodb/index.ts';
import type { ConnectSettings } from '../../../src/ports/engine.ts';
import { dial } from '../../fixture.ts';
import { converse, toReply } from '../../hostile/rogue-mongodb.ts';

const hasOpenssl = findCommand('openssl') !== undefined;

describe.skipIf(!hasOpenssl)('TLS with mongodb (needs openssl)', () => {
  let dir: string;
  let server: Server;
  let ca: string;
  let client: { cert: string; key: string };
  /** What was said at the log-in, and by whom. */
  let logIns: { command: Document; subject: string | undefined }[] = [];

  const textsOf = async ({ cert, key }: Certificates) => ({
    cert: await readFile(cert, 'utf8'),
    key: await readFile(key, 'utf8'),
  });

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'datahub-tls-'));
    const sign = await createAuthority(dir);
    const good = await sign({ name: 'good', alternatives: 'DNS:localhost' });
    client = await textsOf(await sign({ name: 'client', subject: 'tls_client' }));
    ca = await readFile(good.ca, 'utf8');
    server = createServer({ ...(await textsOf(good)), ca, requestCert: true, rejectUnauthorized: false });
    server.on('secureConnection', (socket: TLSSocket) => {
      socket.on('error', () => {});
      const noted = (reply: Document) => (_: unknown, command: Document, id: number) => {
        const { subject } = socket.getPeerCertificate();
        logIns.push({ command, subject: subject && String(subject.CN) });
        socket.write(toReply(BSON.serialize(reply), id));
      };
      const payload = new Binary(Buffer.alloc(0));
      converse({
        saslStart: noted({ ok: 1, conversationId: 1, done: true, payload }),
        authenticate: noted({ ok: 1, user: 'CN=tls_client', dbname: '$external' }),
      })(socket);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterAll(async () => {
    server?.close();
    await rm(dir, { recursive: true, force: true });
  });

  const connect = async (change: Partial<ConnectSettings>) => {
    logIns = [];
    const connection = await createMongodbEngine().connect(
      {
        engine: 'mongodb',
        host: 'localhost',
        port: (server.address() as AddressInfo).port,
        database: 'd',
        user: '',
        password: '',
        tls: { mode: 'verify-full', ca },
        ...change,
      },
      { dial: (_host, port) => dial('127.0.0.1', port), signal: AbortSignal.timeout(4_000) },
    );
    connection.close();
    return logIns;
  };

  it('checks the name that was given, and the authority', async () => {
    expect(await connect({})).toEqual([]);
    const rejected = (change: Partial<ConnectSettings>) =>
      expect(connect(change)).rejects.toMatchObject({ code: 'SOURCE_TLS', retryable: false });
    await rejected({ host: 'other.example' });
    await rejected({ tls: { mode: 'verify-full' } });
    expect(await connect({ host: 'other.example', tls: { mode: 'require', ca } })).toEqual([]);
    expect(await connect({ tls: { mode: 'prefer' } })).toEqual([]);
  });

  it('logs in by a certificate', async () => {
    const tls = { mode: 'verify-full', ca, ...client } as const;
    const [logIn] = await connect({ authMechanism: 'MONGODB-X509', tls });
    expect(logIn).toMatchObject({
      command: { authenticate: 1, mechanism: 'MONGODB-X509', $db: '$external' },
      subject: 'tls_client',
    });
  });

  it('logs in by PLAIN, behind what was verified alone', async () => {
    const as = { user: 'u', password: 'secret', authMechanism: 'PLAIN' } as const;
    const [logIn] = await connect(as);
    expect(logIn?.command).toMatchObject({ saslStart: 1, mechanism: 'PLAIN', $db: '$external' });
    expect(Buffer.from(logIn?.command.payload.buffer).toString()).toBe('\0u\0secret');
    await expect(connect({ ...as, tls: { mode: 'require', ca } })).rejects.toMatchObject({
      code: 'SOURCE_TLS',
    });
    expect(logIns).toEqual([]);
  });
});
