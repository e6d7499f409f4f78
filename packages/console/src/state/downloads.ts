/** Rows as files: a run of its own, so that all rows are in it and not only those shown. */

import type { CsvOptions } from '@datahub/contract/formats';
import { signal } from '@preact/signals';
import { call, isAborted } from '../api/client.ts';
import { type Annotation, annotateOption } from './annotation.ts';
import type { RowStore } from './rows/row-store.ts';
import { type RunTarget, toCall } from './run-call.ts';

export type DownloadFormat = 'csv' | 'spreadsheet' | 'json' | 'ndjson' | 'arrow';

interface FormatFacts {
  format: DownloadFormat;
  name: string;
  accept: string;
  extension: string;
  csv?: CsvOptions;
}

/** Where numbers have a comma, spreadsheets separate fields by semicolons. */
const hasDecimalComma = new Intl.NumberFormat().format(1.5).includes(',');

export const downloads: FormatFacts[] = [
  { format: 'csv', name: 'CSV', accept: 'text/csv', extension: 'csv' },
  {
    format: 'spreadsheet',
    name: 'CSV for spreadsheets',
    accept: 'text/csv',
    extension: 'csv',
    csv: { bom: true, delimiter: hasDecimalComma ? ';' : ',' },
  },
  { format: 'json', name: 'JSON', accept: 'application/json', extension: 'json' },
  { format: 'ndjson', name: 'NDJSON', accept: 'application/x-ndjson', extension: 'ndjson' },
  { format: 'arrow', name: 'Arrow', accept: 'application/vnd.apache.arrow.stream', extension: 'arrows' },
];

const factsOf = (format: DownloadFormat): FormatFacts =>
  downloads.find((one) => one.format === format) as FormatFacts;

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

interface DownloadRequest {
  target: RunTarget;
  context: string;
  label: string;
  format: DownloadFormat;
  annotation?: Annotation | undefined;
}

/** A file that is being read. */
export interface Download {
  name: string;
  bytes: number;
  cancel(): void;
}

export const running = signal<Download[]>([]);

/** Reads all rows and saves them as a file. Resolves to its size in bytes, undefined if it was cancelled. */
export async function download(request: DownloadRequest): Promise<number | undefined> {
  const stop = new AbortController();
  const name = `${fileName(request.label)}.${factsOf(request.format).extension}`;
  let shown: Download = { name, bytes: 0, cancel: () => stop.abort() };
  running.value = [...running.value, shown];
  const show = (bytes: number) => {
    const next = { ...shown, bytes };
    running.value = running.value.map((one) => (one === shown ? next : one));
    shown = next;
  };
  try {
    const response = await requestRows(request, stop.signal);
    const blob = await readBlob(response, show);
    saveBlob(blob, name);
    return blob.size;
  } catch (err) {
    if (isAborted(err) || stop.signal.aborted) return undefined;
    throw err;
  } finally {
    running.value = running.value.filter((one) => one !== shown);
  }
}

function requestRows(request: DownloadRequest, signal: AbortSignal): Promise<Response> {
  const { target, context, format, annotation } = request;
  const { accept, csv } = factsOf(format);
  const { path, body } = toCall(target, context, { csv, annotate: annotateOption(annotation) });
  return call(path, { body, accept, signal });
}

const shownAfterMs = 100;

/** Browsers keep a large blob on disk, so chunks are handed over in parts. */
async function readBlob(response: Response, show: (bytes: number) => void): Promise<Blob> {
  const reader = (response.body as ReadableStream<Uint8Array<ArrayBuffer>>).getReader();
  const parts: Blob[] = [];
  let chunks: Uint8Array<ArrayBuffer>[] = [];
  let [bytes, inChunks, shownAt] = [0, 0, 0];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
    bytes += value.length;
    inChunks += value.length;
    if (inChunks > partBytes) {
      parts.push(new Blob(chunks));
      chunks = [];
      inChunks = 0;
    }
    if (performance.now() - shownAt > shownAfterMs) {
      shownAt = performance.now();
      show(bytes);
    }
  }
  return new Blob([...parts, ...chunks], { type: response.headers.get('content-type') ?? '' });
}

const partBytes = 8 * 1_024 * 1_024;

/** The rows that are shown: what a write returned must not be asked for again. */
export const saveShown = (store: RowStore, label: string): void =>
  saveBlob(
    new Blob([store.lines.join('\n'), '\n'], { type: 'application/x-ndjson' }),
    `${fileName(label)}.ndjson`,
  );
