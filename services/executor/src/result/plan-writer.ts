/** Writes the plan of a statement, which the database sends as one column of text, as the JSON object `{"plan": …}`. */

import type { ExecutionReply } from '@datahub/executor-session/executor';
import { HubError } from '@datahub/service-kit/call/error';
import type { ResponseWriter } from './response.ts';

const planBytesMax = 4 * 1_048_576;
const chunkBytesMax = 262_144;

/** `isJson` is false for a plan that is plain text, which becomes a JSON string. */
export function createPlanWriter(reply: ExecutionReply, { isJson }: { isJson: boolean }): ResponseWriter {
  let lines: Buffer[] = [];
  let bytes = 0;
  return {
    takesDocuments: false,
    takesBinary: false,
    rowCount: 0,
    truncated: false,
    full: false,
    onDrain: () => {},
    begin: () => {},
    row: (source, offsets) => {
      const [start = 0, end = 0] = offsets;
      bytes += end - start;
      if (bytes > planBytesMax)
        throw new HubError('LIMIT_EXCEEDED', 'The plan of this query is larger than 4 MiB.', {
          retryable: false,
        });
      // The database's buffer is used again for the next rows.
      lines.push(Buffer.from(source.subarray(start, end)));
    },
    document: () => {},
    abandon: () => {
      lines = [];
    },
    finish: () => {
      const text = lines.join('\n');
      const body = Buffer.from(`{"plan":${isJson ? text : JSON.stringify(text)}}`);
      for (let at = 0; at < body.length; at += chunkBytesMax)
        reply.chunk(body.subarray(at, at + chunkBytesMax), at + chunkBytesMax >= body.length);
    },
  };
}
