/** What a Service is in a cluster: one port before several, each connection to the next that takes it. */

import type { AddressInfo } from 'node:net';
import { connect, createServer } from 'node:net';

export async function startBalancer(ports: readonly number[]): Promise<{ port: number; close(): void }> {
  let turn = 0;
  const server = createServer({ allowHalfOpen: true }, (client) => {
    client.on('error', () => {});
    const dial = (tries: number): void => {
      const port = ports[turn++ % ports.length] as number;
      const target = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
      target.once('connect', () => {
        target.removeAllListeners('error').on('error', () => client.destroy());
        client.pipe(target).pipe(client);
        client.on('close', () => target.destroy());
        target.on('close', () => client.destroy());
      });
      target.once('error', () => (tries > 1 ? dial(tries - 1) : client.destroy()));
    };
    dial(ports.length * 2);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as AddressInfo).port, close: () => void server.close() };
}
