/** Cuts a streamed body into batches of records, which an executor asks for. */

import { excessOf } from '@datahub/contract/json-text';
import type { RecordBatch } from '@datahub/proto/executor/v1/executor';
import { HubError } from '@datahub/service-kit/call/error';
import { createLoopYield } from '@datahub/service-kit/yield-to-loop';
import { validationError } from '../http/request-error.ts';
import { parseCsvRecord, type RawRecord, RecordSplitter } from './records.ts';

const recordBytesMax = 1_048_576;
const batchRecordsMax = 1_000;
const batchCharactersMax = 1_048_576;

export interface RecordBatchesOptions {
  chunks: AsyncIterable<Buffer>;
  isCsv: boolean;
  /** Records of earlier lines are left out. */
  fromLine: number;
}

export class RecordBatches {
  /** The header of CSV; empty for NDJSON. */
  columns: string[] = [];
  readonly #options: RecordBatchesOptions;
  readonly #batches: AsyncGenerator<RecordBatch>;

  constructor(options: RecordBatchesOptions) {
    this.#options = options;
    this.#batches = this.#read();
  }

  /** Undefined after the last one. Throws VALIDATION with the line of a record that cannot be read. */
  async next(): Promise<RecordBatch | undefined> {
    const { value } = await this.#batches.next();
    return value;
  }

  async *#read(): AsyncGenerator<RecordBatch, undefined> {
    const { chunks, isCsv } = this.#options;
    const splitter = new RecordSplitter({ isCsv, bytesMax: recordBytesMax });
    const endOfTurn = createLoopYield();
    let batch: RecordBatch = { records: [], lines: [] };
    let characters = 0;
    let isFirst = true;
    const add = (raw: RawRecord): void => {
      const text = isFirst ? raw.text?.replace(/^\ufeff/, '') : raw.text;
      const isHeader = isFirst && isCsv;
      isFirst = false;
      if (isHeader) this.columns = readHeader(raw, text);
      else if (raw.line >= this.#options.fromLine) {
        const record =
          isCsv && text !== undefined ? this.#toList(raw.line, text) : text && bounded(raw.line, text);
        if (record === undefined) throw atLine(raw.line, faultOf(raw));
        batch.records.push(record);
        batch.lines.push(raw.line);
        characters += record.length;
      }
    };
    const take = async function* (records: Iterable<RawRecord>) {
      for (const raw of records) {
        try {
          add(raw);
        } catch (err) {
          // An error of an earlier line comes first.
          if (batch.records.length > 0) yield batch;
          throw err;
        }
        const turn = endOfTurn();
        if (turn !== undefined) await turn;
        if (batch.records.length < batchRecordsMax && characters < batchCharactersMax) continue;
        yield batch;
        batch = { records: [], lines: [] };
        characters = 0;
      }
    };
    for await (const chunk of chunks) yield* take(splitter.push(chunk));
    yield* take(splitter.end());
    if (batch.records.length > 0) yield batch;
    return undefined;
  }

  #toList(line: number, text: string): string {
    const fields = parseCsvRecord(text);
    if (typeof fields === 'string') throw atLine(line, fields);
    const { length } = this.columns;
    if (fields.length === length) return JSON.stringify(fields);
    const plural = fields.length === 1 ? '' : 's';
    throw atLine(line, `has ${fields.length} field${plural}, and the header has ${length}`);
  }
}

/** A record is read in one piece. */
function bounded(line: number, text: string): string {
  const excess = excessOf(text);
  if (excess !== undefined) throw atLine(line, excess);
  return text;
}

const faultOf = ({ fault = 'cannot be read' }: RawRecord): string => fault;

const atLine = (line: number, fault: string) =>
  new HubError('VALIDATION', `Line ${line} ${fault}.`, { line, retryable: false });

function readHeader(raw: RawRecord, text: string | undefined): string[] {
  const names = text === undefined ? faultOf(raw) : parseCsvRecord(text);
  if (typeof names === 'string')
    throw validationError([{ pointer: '', detail: `has a first line, the header, that ${names}` }]);
  if (names.includes('')) throw validationError([{ pointer: '', detail: 'has a column without a name' }]);
  if (new Set(names).size < names.length)
    throw validationError([{ pointer: '', detail: 'has a column twice in the header' }]);
  return names;
}
