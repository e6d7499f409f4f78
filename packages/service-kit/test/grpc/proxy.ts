import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Forwards connections. It can also hold back all data of open and new ones, as a dead link does. */
export async function startProxy(port: number) {
  const sockets: Socket[] = [];
  let open = 0;
  let isFrozen = false;
  const pairs: [Socket, Socket][] = [];
  const listener = createServer((socket) => {
    const upstream = connect(port, '127.0.0.1');
    open++;
    socket.once('close', () => open--).on('error', () => upstream.destroy());
    upstream.on('error', () => socket.destroy());
    pairs.push([socket, upstream]);
    sockets.push(socket, upstream);
    if (!isFrozen) socket.pipe(upstream).pipe(socket);
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(listener.address() as AddressInfo).port}`,
    open: () => open,
    /** Those that are open, and later ones unless `laterToo` is false. */
    freeze: (laterToo = true) => {
      isFrozen = laterToo;
      for (const socket of sockets) socket.unpipe().pause();
    },
    thaw: () => {
      isFrozen = false;
      for (const [socket, upstream] of pairs) socket.pipe(upstream).pipe(socket);
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      listener.close();
    },
  };
}

export type FaultyLink = Awaited<ReturnType<typeof startProxy>>;
