/**
 * The text without the characters at its end that match. Linear in its length: `replace` with `[…]+$` looks for the end
 * from each character that matches.
 */
export function withoutEnd(text: string, pattern: RegExp): string {
  let end = text.length;
  while (end > 0 && pattern.test(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}
