/** Reads an answer in NDJSON line by line, within a bound of bytes. */

import { cutLine } from '@datahub/contract/formats';

/** Ends at the end of the answer; `more` answers false to stop reading, which ends the request. */
export async function readLines(response: Response, more: (lines: string[]) => boolean): Promise<void> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let rest = '';
  let isFirst = true;
  for (;;) {
    const { done, value } = await reader.read();
    const text = rest + (done ? decoder.decode() : decoder.decode(value, { stream: true }));
    const lines = text.split('\n');
    rest = done ? '' : (lines.pop() as string);
    const whole = lines.filter((line) => line !== '');
    if (whole.length > 0 && !more(whole)) {
      await reader.cancel();
      return;
    }
    if (done) return;
    // Reading on at once would delay the frame that draws the first rows.
    if (isFirst && whole.length > 0) {
      isFirst = false;
      await nextFrame();
    }
  }
}

/** Resolves after the next frame, or soon in a hidden tab, which draws none. */
const nextFrame = () =>
  new Promise<void>((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve));
    setTimeout(resolve, 100);
  });

/** Removes the last line if it says that a limit cut the rows. */
export function takeCut(lines: string[]): boolean {
  const isCut = lines.at(-1) === cutLine;
  if (isCut) lines.pop();
  return isCut;
}
