/** Splits one row of NDJSON into its members without parsing the values, so that their text stays exact. */

export interface Members {
  names: string[];
  /** JSON texts. */
  values: string[];
}

const quote = 0x22;
const backslash = 0x5c;

/** The index after the text that begins at `start`, which is a quote. */
function endOfText(line: string, start: number): number {
  for (let at = line.indexOf('"', start + 1); at >= 0; at = line.indexOf('"', at + 1)) {
    let slashes = 0;
    while (line.charCodeAt(at - 1 - slashes) === backslash) slashes++;
    if (slashes % 2 === 0) return at + 1;
  }
  return line.length;
}

/** The index after the object or array that begins at `start`. */
function endOfNested(line: string, start: number): number {
  let depth = 0;
  for (let at = start; at < line.length; at++) {
    const code = line.charCodeAt(at);
    if (code === quote) at = endOfText(line, at) - 1;
    else if (code === 0x7b || code === 0x5b) depth++;
    else if ((code === 0x7d || code === 0x5d) && --depth === 0) return at + 1;
  }
  return line.length;
}

function endOfValue(line: string, start: number): number {
  const code = line.charCodeAt(start);
  if (code === quote) return endOfText(line, start);
  if (code === 0x7b || code === 0x5b) return endOfNested(line, start);
  for (let at = start; at < line.length; at++) {
    const next = line.charCodeAt(at);
    if (next === 0x2c || next === 0x7d) return at;
  }
  return line.length;
}

/** `line` is a JSON object without spaces between its tokens, as the hub writes it. */
export function membersOf(line: string): Members {
  const names: string[] = [];
  const values: string[] = [];
  let at = 1;
  while (line.charCodeAt(at) === quote) {
    const endOfName = endOfText(line, at);
    names.push(textOf(line.slice(at, endOfName)));
    const end = endOfValue(line, endOfName + 1);
    values.push(line.slice(endOfName + 1, end));
    at = end + 1;
  }
  return { names, values };
}

/** What a JSON text says: a text without its quotes, everything else as it is written. */
export function textOf(json: string): string {
  if (json.charCodeAt(0) !== quote) return json;
  return json.includes('\\') ? (JSON.parse(json) as string) : json.slice(1, -1);
}

const number = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;
export const isNumberText = (text: string): boolean => number.test(text);

/** With separators between thousands, for the eye alone. */
export function grouped(text: string): string {
  const match = /^(-?)(\d{4,})(\.\d+)?$/.exec(text);
  if (match === null) return text;
  const [, sign = '', whole = '', fraction = ''] = match;
  return sign + whole.replace(/\B(?=(\d{3})+$)/g, ',') + fraction;
}
