/**
 * Labels as columns of Arrow. The executor sends each row without bytes, but for the last one of a batch, which has the
 * columns of the batch; see `arrow-batches.ts`. The first bytes are the schema and the head of the first batch.
 */

import { batchMessage, readBatch } from '@datahub/executor-session/arrow-batches';
import { endOfStream, padded } from '@datahub/executor-session/arrow-messages';

/** The members that the hub adds to a row for one text. */
export interface Label {
  label: string;
  confidence: number;
}

export class ArrowLabels {
  #hasSchema = false;
  /** Of each annotation, the labels of the rows of the present batch. */
  readonly #columns: (Label | undefined)[][];

  constructor(annotations: number) {
    this.#columns = Array.from({ length: annotations }, () => []);
  }

  /** `labels` are those of a row, if the bytes are of one. Returns the bytes of the answer. */
  add(bytes: Buffer, labels: (Label | undefined)[] | undefined): Buffer[] {
    if (!this.#hasSchema && labels === undefined) {
      this.#hasSchema = true;
      return [bytes];
    }
    for (const [i, column] of this.#columns.entries()) if (labels !== undefined) column.push(labels[i]);
    return bytes.length === 0 ? [] : this.#close(bytes);
  }

  #close(bytes: Buffer): Buffer[] {
    const { isLast, nulls, buffers, ...batch } = readBatch(bytes);
    const added = this.#columns.map((column) => toColumns(column.splice(0)));
    const { head, rest } = batchMessage({
      ...batch,
      nulls: [...nulls, ...added.flatMap((one) => [one.nulls, one.nulls])],
      buffers: [...buffers, ...added.flatMap((one) => one.buffers)],
    });
    return [...rest, ...(isLast ? [endOfStream] : head)].flatMap(withPadding);
  }
}

const withPadding = (part: Buffer): Buffer[] => {
  const missing = padded(part.length) - part.length;
  return missing === 0 ? [part] : [part, Buffer.alloc(missing)];
};

/** A column of texts, and one of doubles. Both are NULL where there is no label. */
function toColumns(labels: readonly (Label | undefined)[]): { nulls: number; buffers: Buffer[] } {
  const offsets = new Int32Array(labels.length + 1);
  const confidences = new Float64Array(labels.length);
  const valid = Buffer.alloc((labels.length + 7) >> 3);
  const texts: Buffer[] = [];
  let nulls = 0;
  let bytes = 0;
  for (const [row, found] of labels.entries()) {
    if (found === undefined) nulls++;
    else {
      (valid[row >> 3] as number) |= 1 << (row & 7);
      confidences[row] = found.confidence;
      const text = Buffer.from(found.label);
      texts.push(text);
      bytes += text.length;
    }
    offsets[row + 1] = bytes;
  }
  const validity = nulls === 0 ? Buffer.alloc(0) : valid;
  const label = [validity, Buffer.from(offsets.buffer), Buffer.concat(texts)];
  return { nulls, buffers: [...label, validity, Buffer.from(confidences.buffer)] };
}
