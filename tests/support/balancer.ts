/** What a Service is in a cluster: one port before several, each connection to the next that takes it. */

import type { AddressInfo } from 'node:net';
import { connect, createServer } from 'node:net';

export interface Balancer {
  port: number;
  /** The number of connections that each port took. */
  taken: number[];
  close(): void;
}

export async function startBalancer(ports: readonly number[]): Promise<Balancer> {
  let turn = 0;
  const taken = ports.map(() => 0);
  const server = createServer({ allowHalfOpen: true }, (client) => {
    client.on('error', () => {});
    const dial = (tries: number): void => {
      const at = turn++ % ports.length;
      const target = connect({ port: ports[at] as number, host: '127.0.0.1', allowHalfOpen: true });
      target.once('connect', () => {
        taken[at] = (taken[at] ?? 0) + 1;
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
  return { port: (server.address() as AddressInfo).port, taken, close: () => void server.close() };
}
