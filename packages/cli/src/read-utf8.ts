/** Texts in UTF-8. Another encoding is refused: its characters would be lost. */

import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { CommandError } from './failure.ts';

const lineFeed = 0x0a;

export class NotUtf8 extends CommandError {
  readonly line: number;

  constructor(name: string, line: number, cause: unknown) {
    super(`${name}:${line}: ${notUtf8}`, undefined, { cause });
    this.line = line;
  }
}

export const notUtf8 = 'The text is not UTF-8. Save it as UTF-8.';

/** Throws NotUtf8. `name` is what people call the text. */
export function decodeUtf8(bytes: Uint8Array, name: string): string {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    let [line, start] = [1, 0];
    for (let end = bytes.indexOf(lineFeed); end !== -1; end = bytes.indexOf(lineFeed, start)) {
      if (!isUtf8(bytes.subarray(start, end))) break;
      line += 1;
      start = end + 1;
    }
    throw new NotUtf8(name, line, cause);
  }
}

export const readUtf8 = async (path: string): Promise<string> => decodeUtf8(await readFile(path), path);
