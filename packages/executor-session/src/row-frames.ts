/**
 * The format of an answer to whose rows the receiver adds members (`ExecuteRequest.annotate`). It is the answer in the
 * caller's format, cut into frames. A frame is one byte with the kind, the length of the content as a 32-bit
 * little-endian number, and the content. After a row follow its texts (`textColumns`), each as a length and that many
 * bytes of JSON; the length of NULL is 0. The content of a row lacks its end (`rowEnd` of the format).
 */

import type { Annotation } from '@datahub/proto/executor/v1/executor';

export const frameKinds = {
  /** Bytes of the answer. */
  bytes: 0,
  row: 1,
  /** A JSON array with the names of the columns. It comes before the first row, or alone if there are no rows. */
  columns: 2,
  /** A JSON array with the names of a document's members that the receiver would add, sent if there are some. */
  members: 3,
} as const;

export const frameHeadBytes = 5;
export const textHeadBytes = 4;

/** The columns that annotations read, each once. */
export const textColumns = (members: readonly Annotation[]): string[] => [
  ...new Set(members.map(({ text }) => text)),
];

export interface FrameReceiver {
  bytes(content: Buffer): void;
  /**
   * A text is null if its column is NULL. It is JSON if its column is not text. Of a long text, only the part that
   * classifiers read is there.
   */
  row(content: Buffer, texts: (string | null)[]): void;
  columns(names: string[]): void;
  members(names: string[]): void;
}

export class FrameReader {
  readonly #texts: number;
  readonly #receiver: FrameReceiver;
  #parts: Buffer[] = [];
  #bytes = 0;
  /** The number of bytes needed for the next frame. */
  #needed = frameHeadBytes;

  /** `texts` is the number of texts of each row. */
  constructor(texts: number, receiver: FrameReceiver) {
    this.#texts = texts;
    this.#receiver = receiver;
  }

  push(chunk: Buffer): void {
    this.#parts.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes < this.#needed) return;
    const all = this.#parts.length === 1 ? chunk : Buffer.concat(this.#parts);
    let at = 0;
    for (let end = this.#endOf(all, at); end > 0; end = this.#endOf(all, at)) {
      this.#read(all, at);
      at = end;
    }
    this.#parts = at === all.length ? [] : [all.subarray(at)];
    this.#bytes = all.length - at;
  }

  /** Returns the end of the frame that begins at `start`. If it is incomplete, returns 0 and sets `#needed`. */
  #endOf(all: Buffer, start: number): number {
    let end = start + frameHeadBytes;
    if (end <= all.length) {
      end += all.readUInt32LE(start + 1);
      const texts = all[start] === frameKinds.row ? this.#texts : 0;
      for (let i = 0; i < texts; i++) {
        end += textHeadBytes;
        if (end > all.length) break;
        end += all.readUInt32LE(end - textHeadBytes);
      }
    }
    if (end <= all.length) return end;
    this.#needed = end - start;
    return 0;
  }

  #read(all: Buffer, start: number): void {
    const from = start + frameHeadBytes;
    const to = from + all.readUInt32LE(start + 1);
    const kind = all[start];
    if (kind === frameKinds.row) this.#receiver.row(all.subarray(from, to), this.#readTexts(all, to));
    else if (kind === frameKinds.bytes) this.#receiver.bytes(all.subarray(from, to));
    else {
      const names = JSON.parse(all.toString('utf8', from, to)) as string[];
      if (kind === frameKinds.columns) this.#receiver.columns(names);
      else this.#receiver.members(names);
    }
  }

  #readTexts(all: Buffer, start: number): (string | null)[] {
    let at = start;
    const texts: (string | null)[] = [];
    for (let i = 0; i < this.#texts; i++) {
      const length = all.readUInt32LE(at);
      at += textHeadBytes;
      texts.push(length === 0 ? null : toText(all.toString('utf8', at, at + length)));
      at += length;
    }
    return texts;
  }
}

function toText(json: string): string | null {
  if (json.startsWith('"')) return JSON.parse(json) as string;
  return json === 'null' ? null : json;
}
