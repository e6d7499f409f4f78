/** Analyzes the text of a statement: whether it uses the session's state, and which names it has. */

const sessionWords =
  /@|\b(get_lock|last_insert_id|found_rows|row_count|lastval)`?\s*\(|\bprevious\s+value\b|^\s*show\s+(count|warnings|errors)/i;
/**
 * Quotes and comments as the server reads them: "--" begins a comment only if a space or a control character follows.
 * An unterminated quote or comment ends at the end of the text, which keeps the match linear.
 */
const quotesAndComments = new RegExp(
  [
    /\/\*.*?(?:\*\/|$)/,
    /(?:#|--(?![!-~\u0080-\uffff]))[^\n]*/,
    /'(?:[^'\\]|\\.?|'')*(?:'|$)/,
    /"(?:[^"\\]|\\.?|"")*(?:"|$)/,
    /`[^`]*(?:`|$)/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'gs',
);
/**
 * True if the text sets or reads session state. Such a statement runs in a fresh session, which is reset afterwards.
 */
export const usesSession = (text: string) =>
  // A name in backticks may be a function.
  sessionWords.test(text.replace(quotesAndComments, (part) => (part.startsWith('`') ? part : ' ')));

/** True if a server may describe the statement without the columns that it returns when it runs. */
export const hidesColumns = (text: string) =>
  /^\s*(call|explain|describe|desc|show|analyze|check|checksum|optimize|repair)\b/i.test(
    text.replace(quotesAndComments, (part) => (part.startsWith('`') ? part : ' ')),
  );

/** The longest name that the servers allow. */
const nameCharactersMax = 64;
const names = /`((?:[^`]|``)+)`|[\w$\u0080-\uffff]+/g;

/**
 * Returns the words of a text that may be names, without string literals and comments. Each word is included as written
 * and in lower case, because servers differ in how they store and compare names. Names have no characters above U+FFFF,
 * and a look-up of a word with one fails.
 */
export function wordsOf(text: string): Set<string> {
  const words = new Set<string>();
  for (const [word, quoted] of withoutQuotes(text).matchAll(names)) {
    const name = quoted?.replaceAll('``', '`') ?? word;
    if (name.length <= nameCharactersMax && !/^\d+$|[\ud800-\udfff]/.test(name))
      words.add(name).add(name.toLowerCase());
  }
  return words;
}

/** Returns the words of a text in lower case, with their positions. */
export function namesOf(text: string): { word: string; at: number }[] {
  return [...withoutQuotes(text).matchAll(names)].map(({ 0: word, 1: quoted, index: at }) => ({
    word: (quoted?.replaceAll('``', '`') ?? word).toLowerCase(),
    at,
  }));
}

/** Replaces string literals and comments with blanks. */
const withoutQuotes = (text: string) =>
  text.replace(quotesAndComments, (part) => (part.startsWith('`') ? part : ' '.repeat(part.length)));

/** Returns a word as a string literal for a query of the hub's own. */
export const literal = (word: string) => `_utf8mb4 X'${Buffer.from(word).toString('hex')}'`;
