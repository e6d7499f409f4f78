/**
 * The demo's database: PostgreSQL compiled to WebAssembly behind a socket with the wire protocol. It is a separate process
 * because it takes seconds to start and hundreds of megabytes. Use it for the demo only: all connections share one session,
 * and there is no TLS, no password check and no cancellation.
 */

import { PGlite } from '@electric-sql/pglite';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';

const [, , dataDir, port] = process.argv;
const opening = PGlite.create({ ...(dataDir === undefined ? {} : { dataDir }) });
const creating = opening.then((db) => new PGLiteSocketServer({ db, host: '127.0.0.1', port: Number(port) }));

const stop = async () => {
  await (await creating).stop();
  await (await opening).close();
  process.exit(0);
};
process.on('SIGTERM', stop);
// Ctrl-C reaches the hub too, which then stops this process.
process.on('SIGINT', () => {});
process.on('disconnect', stop);

const db = await opening;
await db.exec(`
  CREATE TABLE IF NOT EXISTS orders (
    id bigint PRIMARY KEY, region text NOT NULL, product text NOT NULL,
    quantity int NOT NULL, amount numeric(12, 2) NOT NULL, ordered_at timestamptz NOT NULL
  );
  INSERT INTO orders
  SELECT n, (ARRAY['north', 'south', 'east', 'west'])[1 + n % 4], (ARRAY['tea', 'coffee', 'cocoa'])[1 + n % 3],
         1 + n % 7, round((4.25 + (n * 37 % 100)) * (1 + n % 7), 2),
         timestamptz '2026-01-01 08:00:00Z' + n * interval '5 hours'
  FROM generate_series(1, 500) AS n
  ON CONFLICT DO NOTHING;
`);

await (await creating).start();
// The callback takes the error of a parent that has exited.
process.send?.('ready', undefined, undefined, () => {});
