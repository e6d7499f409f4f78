/** Rows as a file: a run of its own, so that all rows are in it and not only those shown. */

import { endingMark } from '@datahub/contract/formats';
import { call, Failure, isAborted } from '../api/client.ts';
import { type Annotation, annotateOption } from './annotation.ts';
import {
  type Download,
  type DownloadFormat,
  type DownloadKind,
  fileName,
  kindOf,
  running,
  saveBlob,
} from './downloads.ts';
import { brokenOff, type Ending, splitEnding } from './rows/stream.ts';
import { type RunTarget, toCall } from './run-call.ts';

export interface DownloadRequest {
  target: RunTarget;
  context: string;
  label: string;
  format: DownloadFormat;
  annotation?: Annotation | undefined;
}

export interface Downloaded {
  bytes: number;
  /** Says which rows the file lacks, if a limit cut it. */
  ending: Ending;
}

/**
 * Reads all rows and saves them as a file. Resolves to undefined if it was cancelled. Saves nothing if the rows broke
 * off.
 */
export async function download(request: DownloadRequest): Promise<Downloaded | undefined> {
  const stop = new AbortController();
  const kind = kindOf(request.format);
  const name = `${fileName(request.label)}.${kind.extension}`;
  let shown: Download = { name, bytes: 0, cancel: () => stop.abort() };
  running.value = [...running.value, shown];
  const show = (bytes: number) => {
    const next = { ...shown, bytes };
    running.value = running.value.map((one) => (one === shown ? next : one));
    shown = next;
  };
  try {
    const response = await requestRows(request, kind, stop.signal);
    const { blob, ending } = await takeEnding(await readBlob(response, show));
    if (ending.problem !== undefined) throw new Failure(ending.problem);
    saveBlob(blob, name);
    return { bytes: blob.size, ending };
  } catch (err) {
    if (isAborted(err) || stop.signal.aborted) return undefined;
    throw err instanceof Failure ? err : brokenOff();
  } finally {
    running.value = running.value.filter((one) => one !== shown);
  }
}

/** Longer than an ending, which holds at most one problem. */
const endingBytesMax = 65_536;

async function takeEnding(blob: Blob): Promise<{ blob: Blob; ending: Ending }> {
  const bytes = new Uint8Array(await blob.slice(-endingBytesMax).arrayBuffer());
  const at = bytes.lastIndexOf(endingMark.charCodeAt(0));
  const { ending } = splitEnding(new TextDecoder().decode(bytes.subarray(Math.max(0, at))));
  return { blob: blob.slice(0, blob.size - bytes.length + at, blob.type), ending };
}

function requestRows(
  request: DownloadRequest,
  { accept, csv }: DownloadKind,
  signal: AbortSignal,
): Promise<Response> {
  const { target, context, annotation } = request;
  const { path, body } = toCall(target, context, {
    ending: true,
    annotate: annotateOption(annotation),
    csv,
  });
  return call(path, { body, accept, signal, reads: true });
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
