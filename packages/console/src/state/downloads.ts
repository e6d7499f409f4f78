/** Rows as files: a run of its own, so that all rows are in it and not only those shown. */

import { call } from '../api/client.ts';
import type { RowStore } from './rows/row-store.ts';

export type DownloadFormat = 'csv' | 'json' | 'ndjson';

export const downloads: { format: DownloadFormat; name: string; accept: string }[] = [
  { format: 'csv', name: 'CSV', accept: 'text/csv' },
  { format: 'json', name: 'JSON', accept: 'application/json' },
  { format: 'ndjson', name: 'NDJSON', accept: 'application/x-ndjson' },
];

export const fileName = (label: string): string =>
  label.replaceAll(/[^\p{L}\p{N}._-]+/gu, '-').slice(0, 100) || 'data';

export function saveBlob(blob: Blob, name: string): void {
  const href = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = href;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}

interface Download {
  queryId: string;
  version: number | undefined;
  context: string;
  label: string;
  format: DownloadFormat;
  signal: AbortSignal;
}

/** The size of the file in bytes. */
export async function download(request: Download): Promise<number> {
  const { queryId, version, context, label, format, signal } = request;
  const accept = downloads.find((one) => one.format === format)?.accept ?? 'text/csv';
  // Options that are undefined are left out.
  const options = JSON.stringify({ version });
  const body = `{"queryId":${JSON.stringify(queryId)},"context":${context},"options":${options}}`;
  const blob = await (await call('v1/queries/execute', { body, accept, signal })).blob();
  saveBlob(blob, `${fileName(label)}.${format}`);
  return blob.size;
}

/** The rows that are shown: what a write returned must not be asked for again. */
export const saveShown = (store: RowStore, label: string): void =>
  saveBlob(
    new Blob([store.lines.join('\n'), '\n'], { type: 'application/x-ndjson' }),
    `${fileName(label)}.ndjson`,
  );
