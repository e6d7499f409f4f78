/** Metrics of a store: whether it works, how long a check takes, and the disk of an embedded one. */

import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';

export interface MeasuredStore {
  /** The service that the store belongs to. */
  service: string;
  storeUrl: string;
  /** Rejects if the store does not work. */
  health(): Promise<void>;
}

/** Below the time that Prometheus waits for the metrics. */
const healthTimeoutMs = 2_000;
const filePrefix = 'sqlite:';

/** In Prometheus' text format. Checks each store once. */
export async function renderStores(stores: readonly MeasuredStore[]): Promise<string> {
  const measured = await Promise.all(
    stores.map(async (store) => ({
      labels: `{service="${store.service}"}`,
      ...(await checkOf(store)),
      disk: await diskOf(store.storeUrl),
    })),
  );
  const onDisk = measured.flatMap(({ labels, disk }) => (disk === undefined ? [] : [{ labels, ...disk }]));
  const lines = [
    '# TYPE datahub_store_up gauge',
    ...measured.map(({ labels, up }) => `datahub_store_up${labels} ${up ? 1 : 0}`),
    '# TYPE datahub_store_check_seconds gauge',
    ...measured.map(({ labels, seconds }) => `datahub_store_check_seconds${labels} ${seconds}`),
    '# TYPE datahub_store_disk_available_bytes gauge',
    ...onDisk.map(({ labels, available }) => `datahub_store_disk_available_bytes${labels} ${available}`),
    '# TYPE datahub_store_disk_size_bytes gauge',
    ...onDisk.map(({ labels, size }) => `datahub_store_disk_size_bytes${labels} ${size}`),
    '',
  ];
  return lines.join('\n');
}

/** Whether the store works, and how long the answer took. */
async function checkOf(store: MeasuredStore): Promise<{ up: boolean; seconds: number }> {
  const startedAt = performance.now();
  const late = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => late.resolve(false), healthTimeoutMs);
  const healthy = store.health().then(
    () => true,
    () => false,
  );
  const up = await Promise.race([healthy, late.promise]).finally(() => clearTimeout(timer));
  return { up, seconds: (performance.now() - startedAt) / 1_000 };
}

/** Undefined if the store is a server, or its directory cannot be read. */
async function diskOf(storeUrl: string): Promise<{ available: number; size: number } | undefined> {
  if (!storeUrl.startsWith(filePrefix) || storeUrl.endsWith(':memory:')) return undefined;
  const found = await statfs(dirname(storeUrl.slice(filePrefix.length))).catch(() => undefined);
  if (found === undefined) return undefined;
  return { available: found.bavail * found.bsize, size: found.blocks * found.bsize };
}
