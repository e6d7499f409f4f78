/** Names as a header can carry them: JSON names may hold anything, line breaks included. */

const namesMax = 10;
const bytesMax = 1_024;

/** Percent-encoded, parted by commas, as many as fit; then how many more there are, as in `limt,regoin,+3`. */
export function toHeaderText(names: readonly string[]): string {
  const shown: string[] = [];
  // A character takes at most 9 bytes, and room is left for the count.
  let bytesLeft = bytesMax - `,+${names.length}`.length;
  for (const name of names.slice(0, namesMax)) {
    const text = encodeURIComponent(name.slice(0, bytesMax).toWellFormed());
    bytesLeft -= text.length + 1;
    if (bytesLeft < 0) break;
    shown.push(text);
  }
  const more = names.length - shown.length;
  return [...shown, ...(more > 0 ? [`+${more}`] : [])].join(',');
}
