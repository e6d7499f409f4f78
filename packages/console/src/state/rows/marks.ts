/** Names for what a text has and nobody sees: line breaks, zero-width and direction marks, blanks at its ends. */

export interface Part {
  text: string;
  /** True if `text` stands for characters that are not seen. */
  isMark: boolean;
}

const short = new Map([
  ['\n', '↵'],
  ['\r', 'CR'],
  ['\t', '⇥'],
  ['\u00a0', 'NBSP'],
  ['\u00ad', 'SHY'],
  ['\u200b', 'ZWSP'],
  ['\u200c', 'ZWNJ'],
  ['\u200d', 'ZWJ'],
  ['\u200e', 'LRM'],
  ['\u200f', 'RLM'],
  ['\u202a', 'LRE'],
  ['\u202b', 'RLE'],
  ['\u202c', 'PDF'],
  ['\u202d', 'LRO'],
  ['\u202e', 'RLO'],
  ['\u2060', 'WJ'],
  ['\u2066', 'LRI'],
  ['\u2067', 'RLI'],
  ['\u2068', 'FSI'],
  ['\u2069', 'PDI'],
  ['\ufeff', 'BOM'],
]);

/** Most texts: ASCII without control characters, and without blanks at the ends. */
const plain = /^[!-~](?:[ -~]*[!-~])?$/;
const blanks = /^[ \u3000]+|[ \u3000]+$/;
/** Control and format characters, blanks but the usual ones, and fillers, which are drawn as blanks. */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u3164]|(?![ \u3000])\p{Zs}|\u034f/u;
const found = new RegExp(`${blanks.source}|${unseen.source}`, 'gu');
/** Joiners are letters in some scripts, and join pictures; tags belong to flags. */
const joiner = /^(?:[\u200c\u200d]|[\u{e0020}-\u{e007f}])$/u;
const joined =
  /(?:\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f|[\u{e0020}-\u{e007f}]|(?!\p{Script=Latin})[\p{L}\p{M}])$/u;

interface MarkOptions {
  /** True to keep a line break behind its mark. */
  breaks?: boolean;
}

/** The parts of a text; undefined if all of it is seen. */
export function partsOf(text: string, { breaks = false }: MarkOptions = {}): Part[] | undefined {
  if (plain.test(text) || text === '') return undefined;
  const parts: Part[] = [];
  let end = 0;
  for (const match of text.matchAll(found)) {
    const [characters] = match;
    if (joiner.test(characters) && joined.test(text.slice(0, match.index))) continue;
    if (match.index > end) parts.push({ text: text.slice(end, match.index), isMark: false });
    parts.push({ text: nameOf(characters), isMark: true });
    if (breaks && characters === '\n') parts.push({ text: '\n', isMark: false });
    end = match.index + characters.length;
  }
  if (parts.length === 0) return undefined;
  if (end < text.length) parts.push({ text: text.slice(end), isMark: false });
  return parts;
}

function nameOf(characters: string): string {
  if (/^[ \u3000]/.test(characters)) return '·'.repeat(characters.length);
  const code = characters.codePointAt(0) as number;
  return short.get(characters) ?? `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
}
