import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { createServer, rootCertificates, type TlsOptions } from 'node:tls';
import { beforeAll, describe, expect, it } from 'vitest';
import { createCertificates } from '../../../../tools/databases/certificates.ts';
import { findCommand } from '../../../../tools/databases/process.ts';
import { startTls } from '../../src/network/tls.ts';
import { certificate, compressedKey, dsaKey, explicitKey, pem } from './handshake/der.ts';

const large = 5_000_000;
const asks: TlsOptions = { requestCert: true, rejectUnauthorized: false };

describe.skipIf(findCommand('openssl') === undefined)('a TLS handshake (needs openssl)', () => {
  let identity: { key: Buffer; cert: string };
  beforeAll(async () => {
    const dir = mkdtempSync(join(tmpdir(), 'datahub-handshake-'));
    const { key, cert } = await createCertificates(dir);
    identity = { key: readFileSync(key), cert: readFileSync(cert, 'utf8') };
    rmSync(dir, { recursive: true });
  });

  /** Connects to a server whose chain has these certificates, too, and reads what it sends. */
  async function read(more: readonly string[], options: TlsOptions = {}): Promise<number> {
    const cert = [identity.cert, ...more].join('\n');
    const server = createServer({ ...identity, cert, ...options }, (socket) =>
      socket.end(Buffer.alloc(large)),
    );
    server.on('tlsClientError', () => {}).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    await once(socket, 'connect');
    try {
      const secure = await startTls(socket, { host: 'a', tls: { mode: 'require' } });
      expect((secure as typeof socket).localPort).toBe(socket.localPort);
      let bytes = 0;
      for await (const part of secure) bytes += part.length;
      return bytes;
    } finally {
      server.close();
    }
  }

  it('may have a chain as authorities have it, and what follows is complete', async () => {
    expect(await read([])).toBe(large);
    expect(await read(rootCertificates.slice(0, 8))).toBe(large);
  });

  it.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'is followed by the close of the server, with %s',
    async (maxVersion) => {
      const server = createServer({ ...identity, maxVersion }, (socket) => socket.end());
      await once(server.listen(0, '127.0.0.1'), 'listening');
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
      await once(socket, 'connect');
      const secure = await startTls(socket, { host: 'a', tls: { mode: 'require' } });
      await once(secure.resume(), 'close', { signal: AbortSignal.timeout(10_000) });
      server.close();
    },
  );

  it('begins in a turn of its own if its certificates take long to read, and fails if the socket breaks', async () => {
    const server = createServer(identity, (socket) => socket.on('error', () => {}).resume());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const sockets: Socket[] = [];
    for (let i = 0; i < 6; i++) {
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
      sockets.push(socket);
      await once(socket, 'connect');
    }
    const ca = [identity.cert, ...rootCertificates.slice(0, 40)].join('\n');
    const tls = { mode: 'prefer', ca } as const;
    const started = sockets.map((socket) => startTls(socket, { host: 'a', tls }));
    const ends = Promise.allSettled(started);
    const begun = () => sockets.filter(({ bytesWritten }) => bytesWritten > 0).length;
    let most = 0;
    sockets.at(-1)?.destroy(new Error('broken'));
    for (let before = begun(); before < 5; before = begun()) {
      await new Promise(setImmediate);
      most = Math.max(most, begun() - before);
    }
    expect(most).toBe(1);
    expect((await ends).map(({ status }) => status)).toEqual([...Array(5).fill('fulfilled'), 'rejected']);
    for (const socket of sockets) socket.destroy();
    server.close();
  });

  it.each<[string, TlsOptions]>([
    ['TLS 1.2', { maxVersion: 'TLSv1.2' }],
    ['TLS 1.2 and asks for a certificate', { maxVersion: 'TLSv1.2', ...asks }],
    ['TLS 1.3 and asks for a certificate', asks],
    ['another group, so that the client begins again', { ecdhCurve: 'P-521' }],
    ['AES-128', { ciphers: 'TLS_AES_128_GCM_SHA256' }],
    ['AES-256', { ciphers: 'TLS_AES_256_GCM_SHA384' }],
    ['ChaCha20', { ciphers: 'TLS_CHACHA20_POLY1305_SHA256' }],
  ])('may be one of a server that uses %s', async (_name, options) => {
    for (let i = 0; i < 4; i++) expect(await read([], options)).toBe(large);
  });

  it.each<[string, TlsOptions]>([
    ['TLS 1.2', { maxVersion: 'TLSv1.2' }],
    ['TLS 1.3', {}],
  ])('ends before OpenSSL reads a certificate that is costly, with %s', async (_name, options) => {
    for (const key of [explicitKey(), compressedKey()])
      await expect(read([pem('CERTIFICATE', certificate(key))], options)).rejects.toMatchObject({
        code: 'SOURCE_TLS',
        cause: { message: 'A certificate has a key that costs much.' },
      });
  });

  it('ends with SOURCE_TLS if its chain has many certificates', async () => {
    const small = rootCertificates.toSorted((one, other) => one.length - other.length).slice(0, 12);
    await expect(read(small)).rejects.toMatchObject({
      cause: { message: 'The server has too many certificates.' },
    });
  });

  it('ends with SOURCE_TLS if the chain is longer, because verifying it takes long', async () => {
    await expect(read(rootCertificates.slice(0, 40))).rejects.toMatchObject({ code: 'SOURCE_TLS' });
  });

  it.each(['ca', 'cert', 'key'] as const)('does not begin with a costly tls.%s', async (name) => {
    const material = {
      ca: pem('CERTIFICATE', certificate(explicitKey())),
      cert: pem('CERTIFICATE', certificate(explicitKey())),
      key: pem('PRIVATE KEY', dsaKey(2_048)),
    };
    const socket = new PassThrough() as unknown as Socket;
    await expect(
      startTls(socket, { host: 'a', tls: { mode: 'require', [name]: material[name] } }),
    ).rejects.toMatchObject({ code: 'SOURCE_TLS', message: expect.stringContaining(`tls.${name}:`) });
    expect(socket.destroyed).toBe(true);
  });
});
