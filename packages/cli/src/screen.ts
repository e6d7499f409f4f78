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
 * Characters that show nothing, or change how others show: control and format characters, separators of lines, lone
 * surrogates, and the plane of tags, in which a text can hide. Visible format characters of Arabic and other scripts
 * stay, and so do variation selectors.
 */
const hidden =
  /[[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\u{e0000}-\u{e00ff}\u{e01f0}-\u{e0fff}]--[\n\t\u200c\u200d\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}]]/v
    .source;
/** Joiners stay in emoji, and behind letters of the scripts that need them, such as Arabic and Devanagari. */
const joiner =
  /(?<![\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f[[\p{L}\p{M}]--[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Inherited}]]])[\u200c\u200d]/v
    .source;
const hiddenOnes = new RegExp(`${hidden}|${joiner}`, 'gv');

/**
 * Writes hidden characters as JSON escapes: what a terminal or a pull request shows must be what the text says, and JSON
 * stays JSON. Line breaks and tabs stay.
 */
export const visible = (text: string): string =>
  text.replaceAll(/\r(?=\n|$)/g, '').replaceAll(hiddenOnes, toEscapes);

const toEscapes = (character: string): string =>
  Array.from({ length: character.length }, (_, i) => character.charCodeAt(i))
    .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
    .join('');
