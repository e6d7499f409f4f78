/** Checks the public port before any process starts, so that one message says what is wrong with it. */

import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { cannotListen } from '@datahub/service-kit/settings/start-failure';

/** Returns the port, or a free one for port 0. */
export async function requireFreePort(host: string, port: number): Promise<number> {
  const server = createServer().listen(port, host);
  await once(server, 'listening').catch((err) => {
    throw cannotListen('PORT', err);
  });
  const { port: free } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return free;
}
