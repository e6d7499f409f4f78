/** Reads an answer with the option `ending` in NDJSON line by line, within a bound of bytes. */

import { cutLine, endingMark } from '@datahub/contract/formats';
import { Failure, isAborted } from '../../api/client.ts';
import type { Problem } from '../../api/types.ts';

/** How the rows of an answer ended; empty if all came. */
export interface Ending {
  truncated?: true;
  /** The number of rows, if a limit cut them. */
  rows?: number;
  /** Whose limit that was. */
  limit?: 'key' | 'request' | 'hub';
  moreResults?: true;
  problem?: Problem;
}

const limits = { key: "this key's limit", request: "this page's limit", hub: "the hub's limit" };
export const limitIn = ({ limit = 'hub' }: Ending): string => limits[limit];

/**
 * The ending at the end of an answer, and the text before it. Throws a Failure if it has none: there are proxies that
 * end an answer which broke off as if it were whole.
 */
export function splitEnding(text: string): { before: string; ending: Ending } {
  const at = text.lastIndexOf(endingMark);
  if (at === -1) throw brokenOff();
  try {
    return { before: text.slice(0, at), ending: JSON.parse(text.slice(at + 1)) };
  } catch {
    throw brokenOff();
  }
}

/** The failure of an answer that broke off without a reason. */
export const brokenOff = (): Failure =>
  new Failure({
    status: 0,
    title: 'The answer is incomplete',
    detail: 'The connection to the hub, or of the hub to the database, was lost.',
  });

/**
 * Resolves at the end of the answer. `more` answers false to stop reading, which ends the request. Rejects with a Failure
 * if the answer broke off.
 */
export async function readLines(response: Response, more: (lines: string[]) => boolean): Promise<Ending> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let rest = '';
  let isFirst = true;
  for (;;) {
    const { done, value } = await reader.read().catch((err) => {
      throw isAborted(err) ? err : brokenOff();
    });
    const lines = (rest + (done ? decoder.decode() : decoder.decode(value, { stream: true }))).split('\n');
    // A row that a failure cut ends with the mark of the ending instead of a line break.
    rest = lines.at(-2)?.includes(endingMark) ? `${lines.splice(-2, 1)}` : (lines.pop() as string);
    const whole = lines.filter((line) => line !== '');
    if (whole.length > 0 && !more(whole)) {
      await reader.cancel();
      return {};
    }
    if (done) return splitEnding(rest).ending;
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
