/** Rows of a result in `application/x-ndjson`, one at a time. */

import type { Opened } from './exchange.ts';
import { ProblemError } from './problem.ts';

/** Runs the query once for each loop over it. */
export interface Rows<Row> extends AsyncIterable<Row> {
  /** Whether the last loop ended because `maxRows` was reached. */
  readonly truncated: boolean;
}

/** No row has these bytes; a row with this value has others. */
const lastLine = '{"truncated":true}';

export function createRows<Row>(open: () => Promise<Opened>): Rows<Row> {
  const rows = {
    truncated: false,
    async *[Symbol.asyncIterator](): AsyncGenerator<Row, void, void> {
      rows.truncated = false;
      const opened = await open();
      try {
        for await (const lines of readLines(opened)) {
          for (const line of lines) {
            if (line === lastLine) rows.truncated = true;
            else yield parse<Row>(line);
          }
        }
      } finally {
        opened.close();
      }
    },
  };
  return rows;
}

/** All complete lines of a chunk at a time. */
async function* readLines(opened: Opened): AsyncGenerator<string[], void, void> {
  const { response, toError } = opened;
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let rest = '';
  for (;;) {
    opened.await();
    const { done, value } = await reader.read().catch((err) => {
      const error = toError(err);
      throw error instanceof ProblemError && error.code === 'NO_ANSWER' ? cutShort(err) : error;
    });
    opened.pause();
    if (done) break;
    const text = decoder.decode(value, { stream: true });
    const end = text.lastIndexOf('\n');
    if (end === -1) {
      rest += text;
      continue;
    }
    yield (rest + text.slice(0, end)).split('\n');
    rest = text.slice(end + 1);
  }
  if (rest !== '') throw cutShort();
}

function parse<Row>(line: string): Row {
  try {
    return JSON.parse(line);
  } catch (err) {
    throw cutShort(err);
  }
}

/** The rows before it may have been used, so it is not retried. */
const cutShort = (cause?: unknown) =>
  new ProblemError(
    { status: 0, code: 'CUT_SHORT', detail: 'The result broke off before its last row.', retryable: true },
    { cause },
  );
