/** Writes to the terminal. Texts of a hub, a database or a file never reach it with control characters. */

import type { Environment } from './access.ts';

/** What the program is started with. */
export interface Stream extends NodeJS.WritableStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
}

const codes = { red: 31, green: 32, yellow: 33, bold: 1, dim: 2 } as const;
export type Colour = keyof typeof codes;

/** What commands write to. */
export interface Output {
  readonly isTTY: boolean;
  /** The width of the terminal. */
  readonly columns: number | undefined;
  /** Returns false if the reader is behind; see `drained`. Colours show only on a terminal. */
  write(text: string, colour?: Colour): boolean;
  /** Replaces the current line of a terminal. Does nothing elsewhere. */
  rewriteLine(text: string): void;
  drained(): Promise<void>;
}

interface OutputOptions {
  env: Environment;
  /** True for data, whose bytes stay exact in a file or pipe. What people read is shown there, too: logs are terminals. */
  isData: boolean;
}

export function createOutput(stream: Stream, { env, isData }: OutputOptions): Output {
  const isTTY = stream.isTTY === true;
  // See no-color.org.
  const isColoured = isTTY && !env.NO_COLOR && env.TERM !== 'dumb';
  const shown = isTTY || !isData ? visible : (text: string) => text;
  return {
    isTTY,
    get columns() {
      return stream.columns;
    },
    write: (text, colour) => {
      if (colour === undefined || !isColoured) return stream.write(shown(text));
      return stream.write(`\u001b[${codes[colour]}m${shown(text)}\u001b[0m`);
    },
    rewriteLine: (text) => {
      if (isTTY) stream.write(`\r\u001b[K${visible(text)}`);
    },
    drained: () =>
      new Promise((resolve) => {
        stream.once('drain', () => resolve());
      }),
  };
}

/**
 * Writes control characters, and those that change the direction of a text, as JSON escapes: what a terminal or a pull
 * request shows must be what the text says, and JSON stays JSON. Line breaks and tabs stay.
 */
export const visible = (text: string): string =>
  text
    .replaceAll(/\r(?=\n|$)/g, '')
    .replaceAll(
      /[^\P{Cc}\n\t]|\p{Bidi_Control}/gu,
      (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
