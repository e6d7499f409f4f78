import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { Client } from '@grpc/grpc-js';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Certificates, createAuthority } from '../../../../tools/databases/certificates.ts';
import { CertificateFiles } from '../../src/grpc/certificates.ts';
import { type RunningGrpcServer, startGrpcServer } from '../../src/grpc/server.ts';
import { clientCredentialsOf, serverCredentialsOf } from '../../src/grpc/settings.ts';

const day = 86_400;

describe('certificates between services', () => {
  let dir: string;
  let sign: Awaited<ReturnType<typeof createAuthority>>;
  let paths: Certificates;
  let files: CertificateFiles;
  let server: RunningGrpcServer;
  let lines: string[];

  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'datahub-certificates-'));
    sign = await createAuthority(dir);
    paths = await sign({ name: 'used' });
    const [ca, cert, key] = await Promise.all(
      [paths.ca, paths.cert, paths.key].map((path) => readFile(path)),
    );
    const contents = { ca, cert, key } as Record<'ca' | 'cert' | 'key', Buffer>;
    files = new CertificateFiles(paths, contents, 10);
    lines = [];
    files.logTo(pino({}, { write: (line) => void lines.push(line) }));
    server = await startGrpcServer({
      address: '127.0.0.1:0',
      services: [],
      credentials: serverCredentialsOf({ tls: files, serviceToken: undefined, serviceTokens: [] }),
    });
  });
  afterEach(async () => {
    await server.close(0);
    await rm(dir, { recursive: true, force: true });
  });

  /** The serial number of the certificate that a new connection sees. */
  const serialOf = async () => {
    const [ca, cert, key] = await Promise.all(
      [paths.ca, paths.cert, paths.key].map((path) => readFile(path)),
    );
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const socket = connect(
      { port: server.port, host: '127.0.0.1', ca, cert, key, ALPNProtocols: ['h2'] },
      () => resolve(socket.getPeerCertificate().serialNumber),
    );
    socket.on('error', reject);
    return promise.finally(() => socket.destroy());
  };

  it('are read again when they change, without a restart', async () => {
    const before = await serialOf();
    const next = await sign({ name: 'next', days: 30 });
    await rename(next.key, paths.key);
    await rename(next.cert, paths.cert);
    await expect.poll(serialOf).not.toBe(before);
    expect(lines.join('')).toContain('"event":"certificates.renewed"');
    const [, seconds] = /kind="certificate"} (\d+)/.exec(files.metrics()) ?? [];
    expect(Number(seconds) - Date.now() / 1_000).toBeGreaterThan(29 * day);
  });

  it('stay in use if the new files do not match, which the log says once', async () => {
    const before = await serialOf();
    const cert = await readFile(paths.cert);
    // In one step: a file that is half written is another fault.
    const replace = async (content: Buffer | string) => {
      await writeFile(join(dir, 'new.crt'), content);
      await rename(join(dir, 'new.crt'), paths.cert);
    };
    await replace(await readFile((await sign({ name: 'next' })).cert));
    await expect.poll(() => lines.length).toBe(1);
    await replace('not a certificate');
    await expect.poll(() => lines.length).toBe(2);
    expect(lines.every((line) => line.includes('"event":"certificates.unusable"'))).toBe(true);
    await replace(cert);
    expect(await serialOf()).toBe(before);
  });

  it('of a new CA hold for clients and servers that run', async () => {
    const isReached = async () => {
      const credentials = clientCredentialsOf({ tls: files, serviceToken: undefined, serviceTokens: [] });
      const client = new Client(`127.0.0.1:${server.port}`, credentials);
      const { promise, resolve } = Promise.withResolvers<boolean>();
      client.waitForReady(Date.now() + 5_000, (err) => resolve(err === undefined || err === null));
      return promise.finally(() => client.close());
    };
    expect(await isReached()).toBe(true);
    const other = join(dir, 'other');
    const next = await (await createAuthority(other))({ name: 'next' });
    for (const part of ['ca', 'key', 'cert'] as const) await rename(next[part], paths[part]);
    await expect.poll(() => lines.join('')).toContain('certificates.renewed');
    expect(await isReached()).toBe(true);
  });
});
