/** How a text breaks its lines. Editors and fields would make each break LF, and so change literals of a statement. */

/** CRLF if the text has no other break. Undefined if it has no CR; else LF, and each CR is a character of its line. */
export function breakOf(text: string): '\r\n' | '\n' | undefined {
  if (!text.includes('\r')) return undefined;
  return /\r(?!\n)|(?<!\r)\n/.test(text) ? '\n' : '\r\n';
}

/** As a field of a page has it. */
const inField = (text: string): string => text.replaceAll(/\r\n?/g, '\n');

/** What a person wrote in a field that began with `before`. */
export function fromField(written: string, before: string): string {
  if (written === inField(before)) return before;
  return breakOf(before) === '\r\n' ? written.replaceAll('\n', '\r\n') : written;
}
