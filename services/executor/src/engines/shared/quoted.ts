/** What a message quotes, which may be a value. */

/** Matches from the first quote to the last, of whichever kind, or to the end. An apostrophe in a word is not a quote. */
const quoted = /(?:(?<![a-z])'|")(?:.*['"]|.*$)/i;

/** The first line of a message without what it quotes. Servers and user code do not escape quotes inside of that. */
export function withoutQuoted(message: string): string {
  const [line = ''] = message.split('\n');
  return line.replace(quoted, '…');
}
