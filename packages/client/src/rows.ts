/** Rows of a result in `application/x-ndjson`, one at a time. */

import type { Opened } from './exchange.ts';
import { type Problem, ProblemError } from './problem.ts';

/** Runs the query once for each loop over it. */
export interface Rows<Row> extends AsyncIterable<Row> {
  /** Whether a limit ended the last loop, or a procedure has further results. */
  readonly truncated: boolean;
}

/** No row has these bytes; a row with this value has others. */
const lastLine = '{"truncated":true}';
/** With the option `ending`, this character and how the rows ended follow all rows. No row has it. */
const endingMark = '\x1e';

export function createRows<Row>(open: () => Promise<Opened>): Rows<Row> {
  const rows = {
    truncated: false,
    async *[Symbol.asyncIterator](): AsyncGenerator<Row, void, void> {
      rows.truncated = false;
      const opened = await open();
      let isEnded = false;
      try {
        for await (const lines of readLines(opened)) {
          for (const line of lines) {
            if (line === lastLine) rows.truncated = true;
            else if (!line.includes(endingMark)) yield parse<Row>(line, opened);
            else {
              isEnded = true;
              failIfBroken(line, opened);
            }
          }
        }
        // A proxy can end an answer that broke off as if it were whole.
        if (!isEnded) throw cutShort(opened);
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
      throw error instanceof ProblemError && error.code === 'NO_ANSWER' ? cutShort(opened, err) : error;
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
  if (rest !== '') throw cutShort(opened);
}

function parse<Row>(line: string, opened: Opened): Row {
  try {
    return JSON.parse(line);
  } catch (err) {
    throw cutShort(opened, err);
  }
}

/** A failure can cut the row before the mark. */
function failIfBroken(line: string, opened: Opened): void {
  const { problem } = parse<{ problem?: Problem }>(line.slice(line.indexOf(endingMark) + 1), opened);
  if (problem !== undefined) throw cutShort(opened, new ProblemError(problem));
}

/** The rows before it may have been used, so it is not retried. */
function cutShort({ isRepeatable: retryable }: Opened, cause?: unknown): ProblemError {
  const detail = 'The result broke off before its last row.';
  return new ProblemError({ status: 0, code: 'CUT_SHORT', detail, retryable }, { cause });
}
