/** Texts in UTF-8. Another encoding is refused: its characters would be lost. */

import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { CommandError } from './failure.ts';

const lineFeed = 0x0a;

/** Throws with the line that is not UTF-8. `name` is what people call the text. */
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
    throw new CommandError(`${name}:${line}: The text is not UTF-8. Save it as UTF-8.`, undefined, { cause });
  }
}

export const readUtf8 = async (path: string): Promise<string> => decodeUtf8(await readFile(path), path);
