/** Files of text. A browser reads a file of another encoding without an error, and replaces what it cannot read. */

import { Failure } from '../../api/client.ts';

/** Rejects if the file is not UTF-8. It holds one chunk at a time. */
export async function requireUtf8(file: Blob): Promise<void> {
  const strict = new TextDecoder('utf-8', { fatal: true });
  const replacing = new TextDecoder();
  const reader = file.stream().getReader();
  let line = 1;
  for (;;) {
    const { done, value } = await reader.read();
    const text = done ? replacing.decode() : replacing.decode(value, { stream: true });
    const before = text.split('\uFFFD', 1)[0] as string;
    try {
      if (done) strict.decode();
      else strict.decode(value, { stream: true });
    } catch {
      throw notUtf8(line + linesIn(before));
    }
    if (done) return;
    line += linesIn(text);
  }
}

const linesIn = (text: string): number => text.split('\n').length - 1;

const notUtf8 = (line: number) =>
  new Failure({
    status: 0,
    title: 'The file cannot be read',
    detail: `Line ${line} is not UTF-8, so its letters could be lost. Save the file as UTF-8, which Excel calls “CSV UTF-8”.`,
  });

export async function readUtf8(file: Blob): Promise<string> {
  await requireUtf8(file);
  return file.text();
}
