/** A server that asks for the password in clear text gets only tokens, and only over verified TLS. */

import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createCertificates } from '../../../../../tools/databases/certificates.ts';
import { createMysqlEngine } from '../../../src/engines/mysql/index.ts';
import type { ConnectSettings } from '../../../src/ports/engine.ts';
import { dial } from '../../fixture.ts';
import { cut } from '../../hostile/rogue.ts';
import { answerCommand, greeting, ok, switchTo } from '../../hostile/rogue-mysql.ts';

const tlsRequestBytes = 36;

describe('mysql_clear_password', () => {
  let dir: string;
  let server: Server;
  let ca: string;
  const passwords: string[] = [];

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'datahub-clear-'));
    const files = await createCertificates(dir);
    const [key, cert] = await Promise.all([readFile(files.key, 'utf8'), readFile(files.cert, 'utf8')]);
    ca = await readFile(files.ca, 'utf8');
    server = createServer((socket) => {
      socket.on('error', () => {});
      socket.write(greeting({ tls: true }));
      // The client's hello may come together with its request for TLS.
      socket.once('readable', () => {
        socket.read(tlsRequestBytes);
        const secure = new TLSSocket(socket, { isServer: true, key, cert });
        secure.on('error', () => {});
        let turn = 0;
        const lengthOf = (bytes: Buffer) => (bytes.length < 4 ? 0 : 4 + bytes.readUIntLE(0, 3));
        cut(secure, lengthOf, (packet) => {
          turn++;
          if (turn === 1) secure.write(switchTo(3, 'mysql_clear_password'));
          else if (turn > 2) answerCommand(secure, packet.toString('latin1', 5));
          else {
            passwords.push(packet.toString('utf8', 4));
            secure.write(ok(5));
          }
        });
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(async () => {
    server.close();
    await rm(dir, { recursive: true, force: true });
  });

  const connect = (change: Partial<ConnectSettings>) => {
    const settings: ConnectSettings = {
      engine: 'mysql',
      host: '127.0.0.1',
      port: (server.address() as AddressInfo).port,
      database: 'd',
      user: 'reader',
      password: 'canary',
      tls: { mode: 'verify-full', ca },
      ...change,
    };
    return createMysqlEngine().connect(settings, { dial, signal: AbortSignal.timeout(60_000) });
  };
  const passwordFrom = { kind: 'aws-rds-iam', region: 'eu-central-1' } as const;

  it('never gets a stored password, nor a token over unverified TLS', async () => {
    for (const change of [{}, { passwordFrom, tls: { mode: 'require' } as const }])
      await expect(connect(change)).rejects.toMatchObject({ code: 'SOURCE_AUTH' });
    expect(passwords).toEqual([]);
  });

  it('gets a token over verified TLS', async () => {
    const connection = await connect({ passwordFrom, password: 'a token' });
    expect(connection.serverVersion).toBe('MySQL 8.0.30');
    connection.close();
    expect(passwords).toEqual(['a token\0']);
  });
});
