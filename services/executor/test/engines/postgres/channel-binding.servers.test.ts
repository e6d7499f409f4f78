/** A log-in over TLS is bound to the server's certificate, so that a man in the middle cannot relay it. */

import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { type AddressInfo, connect as connectSocket, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls, TLSSocket } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createCertificates } from '../../../../../tools/databases/certificates.ts';
import { createPostgresEngine } from '../../../src/engines/postgres/index.ts';
import { sslRequest } from '../../../src/engines/postgres/protocol.ts';
import type { Connection, ConnectSettings } from '../../../src/ports/engine.ts';
import { ask, dial, settingsOf } from '../../fixture.ts';

const { POSTGRES_URL: url, POSTGRES18_URL: newerUrl, TEST_CA: ca } = process.env;
const servers = [
  ['POSTGRES_URL', url],
  ['POSTGRES18_URL', newerUrl],
] as const;

/** Replaces the message that offers SCRAM with and without channel binding with one that offers it only without. */
function removeOffer(bytes: Buffer): Buffer {
  const offer = Buffer.from('SCRAM-SHA-256-PLUS\0');
  const at = bytes.indexOf(offer);
  if (at < 0) return bytes;
  const without = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + offer.length)]);
  without.writeInt32BE(without.readInt32BE(1) - offer.length, 1);
  return without;
}

describe.each(servers)('the log-in at %s', (variable, serverUrl) => {
  describe.skipIf(serverUrl === undefined || ca === undefined)(`(needs ${variable} and TEST_CA)`, () => {
    let dir: string;
    let relay: Server;
    let removesOffer = false;
    const sockets = new Set<Socket>();
    const opened: Connection[] = [];

    /** A relay with its own certificate, which decrypts and forwards the messages. */
    beforeAll(async () => {
      dir = await mkdtemp(join(tmpdir(), 'datahub-binding-'));
      const files = await createCertificates(dir);
      const [key, cert] = await Promise.all([readFile(files.key, 'utf8'), readFile(files.cert, 'utf8')]);
      const { hostname, port } = new URL(serverUrl as string);
      relay = createServer((client) => {
        sockets.add(client.on('error', () => {}));
        client.once('data', () => {
          client.write('S');
          const hub = new TLSSocket(client, { isServer: true, key, cert }).on('error', () => {});
          const plain = connectSocket({ host: hostname, port: Number(port) }).on('error', () => {});
          sockets.add(plain);
          plain.write(sslRequest);
          plain.once('data', () => {
            const server = connectTls({ socket: plain, rejectUnauthorized: false }).on('error', () => {});
            hub.pipe(server);
            server.on('data', (bytes: Buffer) => hub.write(removesOffer ? removeOffer(bytes) : bytes));
            server.on('close', () => hub.end());
          });
        });
      });
      relay.listen(0, '127.0.0.1');
      await once(relay, 'listening');
    });
    afterEach(() => {
      for (const connection of opened.splice(0)) connection.close();
      removesOffer = false;
    });
    afterAll(async () => {
      for (const socket of sockets) socket.destroy();
      relay?.close();
      await rm(dir, { recursive: true, force: true });
    });

    const connect = async (change: Partial<ConnectSettings>) => {
      const settings = { ...settingsOf('postgres', serverUrl as string), ...change };
      const connection = await createPostgresEngine().connect(settings, {
        dial,
        signal: AbortSignal.timeout(60_000),
      });
      opened.push(connection);
      return connection;
    };

    it.each(['disable', 'prefer', 'require'] as const)('works with TLS %s', async (mode) => {
      const connection = await connect({ tls: { mode } });
      expect((await ask(connection, 'SELECT 1 AS one')).data).toEqual([{ one: 1 }]);
    });

    it.each([false, true])(
      'does not work through a relay (offer of channel binding removed: %s)',
      async (removed) => {
        removesOffer = removed;
        const { port } = relay.address() as AddressInfo;
        const through = connect({ host: '127.0.0.1', port, tls: { mode: 'require' } });
        await expect(through).rejects.toMatchObject({ code: 'SOURCE_AUTH', retryable: false });
      },
    );
  });
});
