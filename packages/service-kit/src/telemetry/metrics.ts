/** Metrics for Prometheus, on a separate port so that they are never public. */

import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Closable } from '../closers.ts';
import { createServer } from '../node-http.ts';
import { cannotListen } from '../settings/start-failure.ts';
import { createReadTurns, parseInSlices } from '../sliced-reads.ts';
import { DurationHistogram, type DurationSeries } from './duration-histogram.ts';
import { createProcessRegistry } from './process-metrics.ts';

export interface MetricsServerOptions {
  host: string;
  port: number;
  /**
   * For `/readyz`, which serves probes that cannot use mutual TLS and shows operators the reason: the names of missing
   * parts, none if the service is ready.
   */
  missing?: () => string[];
  /** False if `read` returns the metrics of the process, too. */
  ofProcess?: boolean;
}

/** How long a request that is being answered has at the end. */
const scrapeMs = 1_000;

/** Serves the metrics of the process and those of `read` at `/metrics`; port 0 turns it off. */
export async function serveMetrics(
  read: () => string | Promise<string>,
  { host, port, missing, ofProcess = true }: MetricsServerOptions,
): Promise<Closable & { port: number }> {
  if (port === 0) return { port: 0, close: () => {} };
  const registry = ofProcess ? createProcessRegistry() : undefined;
  /** For all that ask meanwhile. */
  let rendering: Promise<string> | undefined;
  const render = (): Promise<string> => {
    rendering ??= (async () => ((await registry?.metrics()) ?? '') + (await read()))().finally(() => {
      rendering = undefined;
    });
    return rendering;
  };
  const server = createServer(async (request, response) => {
    if (request.url === '/readyz' && missing !== undefined) return sendReadiness(response, missing());
    if (request.url !== '/metrics') return response.writeHead(404).end();
    response.setHeader('content-type', 'text/plain; version=0.0.4; charset=utf-8');
    return response.end(await render());
  });
  // Of requests that a client sends without waiting for answers, Node would parse and start all that it has read.
  server.maxRequestsPerSocket = 1;
  const mustWait = createReadTurns();
  server.on('dropRequest', (_request, socket) => socket.destroy());
  server.on('connection', (socket) => parseInSlices(socket, { mustWait }));
  await new Promise<void>((resolve, reject) => {
    server.once('error', (err) => reject(cannotListen('DATAHUB_METRICS_PORT', err)));
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise<void>((resolve) => {
        // A connection without a whole request would keep the process for as long as its client likes.
        const cut = setTimeout(() => server.closeAllConnections(), scrapeMs);
        server.close(() => {
          clearTimeout(cut);
          resolve();
        });
      }),
  };
}

function sendReadiness(response: ServerResponse, missing: string[]): void {
  const ready = missing.length === 0;
  response.writeHead(ready ? 200 : 503, { 'content-type': 'application/json; charset=utf-8' });
  response.end(JSON.stringify(ready ? { status: 'ready' } : { status: 'not ready', missing }));
}

export interface RpcMetrics {
  /** `path` as in `/datahub.ml.v1.MlService/Predict`; `code` is OK or an error code of the hub. */
  called(path: string, code: string, durationMs: number): void;
  /** In Prometheus' text format. */
  text(): string;
}

export function createRpcMetrics(): RpcMetrics {
  const calls = new DurationHistogram({
    name: 'datahub_rpc_duration_seconds',
    help: 'Calls of this service by method and code.',
    bucketsMs: [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000],
  });
  /** Bounded by the numbers of methods and codes. */
  const seriesOf = new Map<string, DurationSeries>();
  return {
    called: (path, code, durationMs) => {
      const key = `${path} ${code}`;
      let series = seriesOf.get(key);
      if (series === undefined) {
        const [, service = '', method = ''] = path.split('/');
        series = calls.series({ service, method, code });
        seriesOf.set(key, series);
      }
      series.observe(durationMs);
    },
    text: () => calls.text(),
  };
}
