/** The standard output of the program. If it cannot be written, the program fails. */

import { createWriteStream, fstatSync } from 'node:fs';
import { exitCodes } from './failure.ts';
import type { Stream } from './screen.ts';

export function openStandardOutput({ stdout, stderr }: Pick<NodeJS.Process, 'stdout' | 'stderr'>): Stream {
  // On a full disk, a write to a file may take only a part of the bytes, which `process.stdout` does not notice.
  const isFile = fstatSync(stdout.fd).isFile();
  const stream = isFile ? createWriteStream('', { fd: stdout.fd, autoClose: false }) : stdout;
  stream.on('error', (err: NodeJS.ErrnoException) => {
    // A reader such as `head` may end before the output does.
    if (err.code === 'EPIPE') process.exit(exitCodes.done);
    stderr.write(
      `The output could not be written: ${err.message}. The command itself may have done its work.\n`,
    );
    process.exit(exitCodes.failed);
  });
  return stream;
}
