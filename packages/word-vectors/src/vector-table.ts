/** A table of vectors with 8 bits per component, in the format of tools/word-vectors/make.py. */

import { readFileSync } from 'node:fs';

export interface VectorTable {
  dimensions: number;
  /** Returns the row of a token; undefined if the table does not have it. */
  find(token: string): number | undefined;
  addTo(sum: Float64Array, row: number): void;
}

const headerBytes = 12;

/** Throws if the file cannot be read. */
export function readTable(file: URL): VectorTable {
  const bytes = readFileSync(file);
  const [tokens, dimensions, textBytes] = [0, 4, 8].map((at) => bytes.readUInt32LE(at)) as [
    number,
    number,
    number,
  ];
  const scalesAt = headerBytes + textBytes;
  const cells = new Int8Array(bytes.buffer, bytes.byteOffset + scalesAt + 4 * tokens, tokens * dimensions);
  const scales = Float32Array.from({ length: tokens }, (_, row) => bytes.readFloatLE(scalesAt + 4 * row));
  const rows = new Map<string, number>();
  for (const token of bytes.toString('utf8', headerBytes, scalesAt).split('\n')) {
    if (rows.size < tokens) rows.set(token, rows.size);
  }
  return {
    dimensions,
    find: (token) => rows.get(token),
    addTo: (sum, row) => {
      const scale = scales[row] as number;
      for (let i = 0, at = row * dimensions; i < dimensions; i++, at++)
        sum[i] = (sum[i] as number) + scale * (cells[at] as number);
    },
  };
}
