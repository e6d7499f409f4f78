import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, createServer } from 'node:tls';
import { beforeAll, describe, expect, it } from 'vitest';
import { findCommand } from '../../../../tools/databases/process.ts';
import { refuseSlowKeyExchange } from '../../src/process/tls-ciphers.ts';

const hasOpenssl = findCommand('openssl') !== undefined;

describe.skipIf(!hasOpenssl)('the ciphers of clients (needs openssl)', () => {
  let identity: { key: Buffer; cert: Buffer };
  beforeAll(() => {
    const dir = mkdtempSync(join(tmpdir(), 'datahub-ciphers-'));
    const files = ['-keyout', join(dir, 'key'), '-out', join(dir, 'cert')];
    const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=a', ...files];
    execFileSync('openssl', request, { stdio: 'ignore' });
    identity = { key: readFileSync(join(dir, 'key')), cert: readFileSync(join(dir, 'cert')) };
    rmSync(dir, { recursive: true });
    refuseSlowKeyExchange();
  });

  /** Returns the cipher that a client without settings of its own and a server with these ciphers agree to. */
  async function agreed(ciphers: string): Promise<string> {
    const server = createServer({ ...identity, ciphers, dhparam: 'auto', maxVersion: 'TLSv1.2' }, (socket) =>
      socket.end(),
    );
    server.on('tlsClientError', () => {}).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const client = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
    try {
      return await once(client, 'secureConnect').then(
        () => client.getCipher().name,
        (err) => err.code,
      );
    } finally {
      client.destroy();
      server.close();
    }
  }

  it('refuses a key exchange over a prime that the server chose', async () => {
    expect(await agreed('DHE-RSA-AES128-GCM-SHA256')).toMatch(/HANDSHAKE_FAILURE$/);
    expect(await agreed('DHE-RSA-AES256-SHA')).toMatch(/HANDSHAKE_FAILURE$/);
  });

  it('agrees to elliptic curves, and to the keys of RSA that old servers have', async () => {
    expect(await agreed('DHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256')).toBe(
      'ECDHE-RSA-AES128-GCM-SHA256',
    );
    expect(await agreed('AES128-GCM-SHA256')).toBe('AES128-GCM-SHA256');
  });
});
