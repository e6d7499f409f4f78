/**
 * Batches of Arrow's stream: as messages, and as the executor hands them to a receiver that adds columns before it makes a
 * message of them.
 */

import { type Batch, batchMetadata, padded, prefix } from './arrow-messages.ts';

/** A batch with the buffers of all its columns, without padding. */
export interface ColumnBatch extends Omit<Batch, 'buffers'> {
  buffers: readonly Buffer[];
}

/** `apache-arrow` takes the end of the bytes for the end of the rows until it has read the first bytes of metadata. */
const sentMetadataBytes = 8;

/**
 * The message of a batch in two parts, of which each buffer is padded when it is written. All batches of a schema have the
 * same head, so it can follow the message before it at once.
 */
export function batchMessage({ buffers, ...batch }: ColumnBatch): { head: Buffer[]; rest: Buffer[] } {
  const metadata = batchMetadata({ ...batch, buffers: buffers.map(({ length }) => length) });
  return {
    head: [prefix(metadata.length), metadata.subarray(0, sentMetadataBytes)],
    rest: [metadata.subarray(sentMetadataBytes), ...buffers],
  };
}

/** The lengths of the buffers of a column of texts, and of one of numbers, without rows. */
export const emptyColumns = { text: [0, 4, 0], number: [0, 0] } as const;

interface Header extends Omit<Batch, 'buffers'> {
  /** The lengths of the buffers. */
  buffers: number[];
  /** True if no batch follows. */
  isLast: boolean;
}

const lengthBytes = 8;

/** What precedes the padded buffers of a batch that its receiver completes. */
export function batchHeader({ buffers, ...batch }: ColumnBatch, isLast: boolean): Buffer {
  const header: Header = { ...batch, buffers: buffers.map(({ length }) => length), isLast };
  const json = Buffer.from(JSON.stringify(header));
  const bytes = Buffer.alloc(lengthBytes + padded(json.length));
  bytes.writeUInt32LE(json.length);
  bytes.set(json, lengthBytes);
  return bytes;
}

export function readBatch(content: Buffer): ColumnBatch & { isLast: boolean } {
  const length = content.readUInt32LE(0);
  const json = content.toString('utf8', lengthBytes, lengthBytes + length);
  const { buffers, ...header } = JSON.parse(json) as Header;
  let at = lengthBytes + padded(length);
  const found = buffers.map((bytes) => {
    const start = at;
    at += padded(bytes);
    return content.subarray(start, start + bytes);
  });
  return { ...header, buffers: found };
}
