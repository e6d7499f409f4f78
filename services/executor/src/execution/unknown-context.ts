/** Names that a query does not know, as the value of a header. JSON names can hold any character, line breaks included. */

const namesMax = 10;
const bytesMax = 1_024;

/** Percent-encoded, separated by commas, as many as fit; then the number of the others, as in `limt,regoin,+3`. */
export function toHeaderText(names: readonly string[]): string {
  const shown: string[] = [];
  // A character takes up to 9 bytes. Leave room for the count.
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
