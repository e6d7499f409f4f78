import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer, rootCertificates } from 'node:tls';
import { beforeAll, describe, expect, it } from 'vitest';
import { createCertificates } from '../../../../tools/databases/certificates.ts';
import { findCommand } from '../../../../tools/databases/process.ts';
import { startTls } from '../../src/network/tls.ts';

const large = 5_000_000;

describe.skipIf(findCommand('openssl') === undefined)('a TLS handshake (needs openssl)', () => {
  let identity: { key: Buffer; cert: string };
  beforeAll(async () => {
    const dir = mkdtempSync(join(tmpdir(), 'datahub-handshake-'));
    const { key, cert } = await createCertificates(dir);
    identity = { key: readFileSync(key), cert: readFileSync(cert, 'utf8') };
    rmSync(dir, { recursive: true });
  });

  /** Connects to a server whose chain has so many more certificates, and reads what it sends. */
  async function read(more: number): Promise<number> {
    const cert = [identity.cert, ...rootCertificates.slice(0, more)].join('\n');
    const server = createServer({ ...identity, cert }, (socket) => socket.end(Buffer.alloc(large)));
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
    expect(await read(0)).toBe(large);
    expect(await read(8)).toBe(large);
  });

  it('ends with SOURCE_TLS if the chain is longer, because verifying it takes long', async () => {
    await expect(read(40)).rejects.toMatchObject({ code: 'SOURCE_TLS' });
  });
});
