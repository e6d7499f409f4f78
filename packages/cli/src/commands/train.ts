import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { extname } from 'node:path';
import { ProblemError, type Routes } from '@datahub/client';
import { type Command, type Context, textOf } from '../command.ts';
import { CommandError, exitCodes } from '../failure.ts';
import { findClassifierId, type Hub, noAnswer, stream } from '../hub.ts';
import { createProgress, note, print, printJson, toBar } from '../output.ts';

const mediaTypes: Readonly<Record<string, string>> = {
  '.csv': 'text/csv',
  '.ndjson': 'application/x-ndjson',
  '.jsonl': 'application/x-ndjson',
};

type Trained = Extract<Routes['POST /v1/classifiers/{classifierId}/train']['answer'], { faults: unknown }>;

export const train: Command = {
  name: 'train',
  arguments: 'CLASSIFIER FILE',
  summary:
    'Trains a classifier with the examples of a file: .csv with a header, or .ndjson. CLASSIFIER is an id or a name.',
  options: {
    text: { type: 'string', value: 'COLUMN', help: 'The column of CSV with the text, by default "context".' },
    label: { type: 'string', value: 'COLUMN', help: 'The column of CSV with the label, by default "label".' },
  },
  completes: 'files',
  run: async (input, context) => {
    const [classifier = '', file = ''] = input.positionals;
    const type = mediaTypes[extname(file).toLowerCase()];
    if (type === undefined)
      throw new CommandError(`${file} must end in ${Object.keys(mediaTypes).join(', ')}.`);
    const { size } = await stat(file);
    const hub = await context.hub();
    const classifierId = await findClassifierId(hub, classifier);
    const columns = new URLSearchParams();
    for (const name of ['text', 'label']) {
      const column = textOf(input, name);
      if (column !== undefined) columns.set(name, column);
    }
    const path = `v1/classifiers/${encodeURIComponent(classifierId)}/train${columns.size > 0 ? `?${columns}` : ''}`;
    const result = await upload(hub, { path, type, file, size, context });
    if (context.json) printJson(context, result);
    else print(context, `${result.trained} examples trained, ${result.skipped} lines skipped.`);
    for (const { line, detail } of result.faults) note(context, `${file}:${line}: ${detail}`);
    return result.skipped > 0 ? exitCodes.failed : exitCodes.done;
  },
};

interface Upload {
  path: string;
  type: string;
  file: string;
  size: number;
  context: Context;
}

async function upload(hub: Hub, { path, type, file, size, context }: Upload): Promise<Trained> {
  const progress = createProgress(context, Date.now);
  let sent = 0;
  const count = new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, controller) => {
      sent += chunk.length;
      progress.show(toBar(sent / size));
      controller.enqueue(chunk);
    },
  });
  const body = new FileBody(file);
  try {
    const response = await stream(hub, {
      method: 'POST',
      path,
      headers: { 'content-type': type, accept: 'application/x-ndjson' },
      body: body.stream.pipeThrough(count),
    }).catch((err) => Promise.reject(body.fault ?? err));
    const last = await lastLine(response).catch((err) => Promise.reject(noAnswer(err)));
    if ('status' in last) throw new ProblemError(last);
    return last;
  } finally {
    progress.end();
  }
}

/** Rejects if the answer broke off, or is not that of a hub. */
async function lastLine(response: Response): Promise<Trained | { status: number }> {
  const lines = (await response.text()).trim().split('\n');
  return JSON.parse(lines.at(-1) ?? '');
}

async function* chunksOf(file: string): AsyncGenerator<Uint8Array, void, void> {
  for await (const chunk of createReadStream(file)) yield chunk as Uint8Array;
}

class FileBody {
  /** Why the file could not be read. The request then fails with an error that says nothing of it. */
  fault: unknown;
  readonly stream: ReadableStream<Uint8Array>;

  constructor(file: string) {
    const chunks = chunksOf(file);
    this.stream = new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        const { done, value } = await chunks.next().catch((err) => {
          this.fault = err;
          throw err;
        });
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: async () => {
        await chunks.return();
      },
    });
  }
}
