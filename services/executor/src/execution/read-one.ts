/** Reads one small row of a statement, for the hub itself. */

import type { Connection, Outcome, RunOptions, Statement } from '../ports/engine.ts';
import type { ResponseOptions, ResponseWriter } from '../result/response.ts';
import { watched } from './watched-sink.ts';

const bytesMax = 65_536;

export interface OneRow {
  outcome: Outcome;
  /** The answer as JSON; undefined unless it is one row of at most 64 KiB. */
  json: Buffer | undefined;
  /** The places of the columns that are NULL. The null of JSON is another value. */
  nulls: number[];
}

export async function readOne(
  connection: Connection,
  statement: Statement,
  { options, createWriter }: { options: RunOptions; createWriter(options: ResponseOptions): ResponseWriter },
): Promise<OneRow> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const reply = {
    chunk: (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= bytesMax) chunks.push(chunk);
      return true;
    },
    onDrain: () => {},
  };
  const writer = createWriter({ format: 'json', numbers: 'string', meta: false, maxRows: 1, reply });
  let nulls: number[] = [];
  const sink = watched(writer, {
    beforeRow: (offsets) => {
      nulls = [...offsets.keys()].filter((i) => i % 2 === 0 && offsets[i] === -1);
    },
  });
  try {
    const outcome = await connection.run(statement, sink, { ...options, maxRows: 1 });
    writer.finish(outcome, { queueMs: 0, durationMs: 0 });
    const isOne = writer.rowCount === 1 && !writer.truncated && bytes <= bytesMax;
    return { outcome, json: isOne ? Buffer.concat(chunks) : undefined, nulls };
  } catch (err) {
    writer.abandon();
    throw err;
  }
}
