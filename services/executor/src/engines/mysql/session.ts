/** What sessions are set to, and which statements look at them. */

import * as packets from './packets.ts';

/** What every session of the hub is set to. */
export const settings = [
  "SET NAMES utf8mb4, time_zone = '+00:00', autocommit = 1",
  "SET sql_mode = 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'",
];

/** The server then says of each statement whether it changed the session, also where only a function in it did. */
export const track = packets.query('SET session_track_state_change = ON');

const beginning = packets.query('START TRANSACTION');
/** What a statement is prepared and run in; what runs outside of a transaction is prepared in one all the same. */
export const begin = {
  read: packets.query('START TRANSACTION READ ONLY'),
  write: beginning,
  standalone: beginning,
};

/** Locks of the session outlive a transaction, and a function can take them unseen. */
export const unlock = packets.query('DO RELEASE_ALL_LOCKS()');

const sessionWords =
  /@|\b(get_lock|last_insert_id|found_rows|row_count|lastval)`?\s*\(|\bprevious\s+value\b|^\s*show\s+(count|warnings|errors)/i;
/**
 * As the server reads them: after two dashes a control character begins a comment as well as a blank. What is never
 * closed ends with the text, so that it is looked at once.
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
/** What sets or reads something of the session by its text: it is run on a fresh one, and leaves none behind. */
export const usesSession = (text: string) =>
  // A name in quotes may be that of a function.
  sessionWords.test(text.replace(quotesAndComments, (part) => (part.startsWith('`') ? part : ' ')));

/** No name is longer. */
const nameCharactersMax = 64;
const names = /`((?:[^`]|``)+)`|[\w$\u0080-\uffff]+/g;

/** The words of a text that may name something, in lower case; what stands in quotes and comments is none. */
export function wordsOf(text: string): Set<string> {
  const bare = text.replace(quotesAndComments, (part) => (part.startsWith('`') ? part : ' '));
  const words = new Set<string>();
  for (const [word, quoted] of bare.matchAll(names)) {
    const name = quoted?.replaceAll('``', '`') ?? word;
    if (name.length <= nameCharactersMax && !/^\d+$/.test(word)) words.add(name.toLowerCase());
  }
  return words;
}
