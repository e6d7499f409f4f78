/**
 * Writes a ZIP archive while its contents arrive: "APPNOTE.TXT", version 6.3.10, PKWARE. Sizes and checksums follow the
 * bytes of each entry, and the directory is at the end, so an archive that is cut opens in no program.
 */

import { constants, crc32, deflateRawSync } from 'node:zlib';
import { HubError } from '@datahub/service-kit/call/error';
import { noteBuffers } from '@datahub/service-kit/heap';
import type { ByteWriter } from '../values/primitives.ts';

const signatures = { entry: 0x04034b50, sizes: 0x08074b50, listed: 0x02014b50, directory: 0x06054b50 };
const version = 20;
/** The sizes follow the bytes, and names are UTF-8. */
const flags = 0x0808;
const deflated = 8;
/** 1980-01-01, the first day that ZIP knows: equal rows are equal bytes. */
const date = 0x0021;
const bytesMax = 0xffff_ffff;
/** More of the archive than its directory takes. */
const directoryBytesMax = 1_048_576;
/** Rows compress well at a low level, which takes half the time of zlib's default. */
const level = 3;
/** More is stored as it is, because compressing it at once would take more than 50 ms: a single row of large texts. */
const compressedBytesMax = 1_048_576;
/** Zlib writes to buffers of this size: one for what is appended, unless a row is larger. */
const chunkSize = 147_456;
/** An empty last block of DEFLATE, RFC 1951, with fixed codes. */
const lastBlock = Buffer.from([0x03, 0x00]);

interface Entry {
  name: Buffer;
  at: number;
  crc: number;
  compressed: number;
  bytes: number;
}

export class ZipWriter {
  readonly #out: ByteWriter;
  readonly #entries: Entry[] = [];
  #entry!: Entry;
  #bytes = 0;

  constructor(out: ByteWriter) {
    this.#out = out;
  }

  /** Begins an entry. The one before it must have ended. */
  begin(name: string): void {
    this.#entry = { name: Buffer.from(name), at: this.#bytes, crc: 0, compressed: 0, bytes: 0 };
    this.#entries.push(this.#entry);
    const head = Buffer.alloc(30);
    head.writeUInt32LE(signatures.entry, 0);
    this.#writeFacts(head, 4, this.#entry);
    this.#write(head);
    this.#write(this.#entry.name);
  }

  /** Appends to the entry. Throws RESULT_TOO_LARGE for more than a program can read. */
  append(bytes: Buffer): void {
    const entry = this.#entry;
    const packed = deflateRawSync(bytes, {
      level: bytes.length > compressedBytesMax ? constants.Z_NO_COMPRESSION : level,
      chunkSize,
      finishFlush: constants.Z_SYNC_FLUSH,
    });
    entry.crc = crc32(bytes, entry.crc);
    entry.bytes += bytes.length;
    entry.compressed += packed.length;
    this.#write(packed);
    release(packed);
    noteBuffers(bytes.length);
    if (Math.max(this.#bytes, entry.bytes) > bytesMax - directoryBytesMax)
      throw new HubError('RESULT_TOO_LARGE', 'The rows take more than 4 GiB as XLSX. Request CSV.', {
        retryable: false,
      });
  }

  endEntry(): void {
    const entry = this.#entry;
    entry.compressed += lastBlock.length;
    this.#write(lastBlock);
    const sizes = Buffer.alloc(16);
    sizes.writeUInt32LE(signatures.sizes, 0);
    this.#writeSizes(sizes, 4, entry);
    this.#write(sizes);
  }

  /** Writes the directory. */
  end(): void {
    const from = this.#bytes;
    for (const entry of this.#entries) {
      const head = Buffer.alloc(46);
      head.writeUInt32LE(signatures.listed, 0);
      head.writeUInt16LE(version, 4);
      this.#writeFacts(head, 6, entry);
      head.writeUInt32LE(entry.at, 42);
      this.#write(head);
      this.#write(entry.name);
    }
    const tail = Buffer.alloc(22);
    tail.writeUInt32LE(signatures.directory, 0);
    tail.writeUInt16LE(this.#entries.length, 8);
    tail.writeUInt16LE(this.#entries.length, 10);
    tail.writeUInt32LE(this.#bytes - from, 12);
    tail.writeUInt32LE(from, 16);
    this.#write(tail);
  }

  /** What an entry's head and its place in the directory share. The sizes are zero before the bytes. */
  #writeFacts(head: Buffer, at: number, entry: Entry): void {
    head.writeUInt16LE(version, at);
    head.writeUInt16LE(flags, at + 2);
    head.writeUInt16LE(deflated, at + 4);
    head.writeUInt16LE(date, at + 8);
    this.#writeSizes(head, at + 10, entry);
    head.writeUInt16LE(entry.name.length, at + 22);
  }

  #writeSizes(target: Buffer, at: number, { crc, compressed, bytes }: Entry): void {
    target.writeUInt32LE(crc, at);
    target.writeUInt32LE(compressed, at + 4);
    target.writeUInt32LE(bytes, at + 8);
  }

  #write(bytes: Buffer): void {
    const out = this.#out;
    out.reserve(bytes.length);
    bytes.copy(out.buffer, out.position);
    out.position += bytes.length;
    this.#bytes += bytes.length;
  }
}

/**
 * Frees a buffer that is not part of another. V8 keeps what a call of zlib made until a full GC: 40 MiB for a million
 * rows.
 */
function release({ buffer }: Buffer<ArrayBuffer>): void {
  buffer.transfer(0);
}
