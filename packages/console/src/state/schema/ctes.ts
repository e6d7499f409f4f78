/** The names and columns of the parts of a WITH, as far as a look at the text tells. */

export interface Cte {
  name: string;
  columns: string[];
}

const ctesMax = 50;
const head =
  /(?:\bwith\s+(?:recursive\s+)?|,\s*)([A-Za-z_][\w$]*)\s*(?:\(([^()]*)\)\s*)?\bas\s+(?:not\s+)?(?:materialized\s+)?\(/gi;

export function ctesIn(text: string): Cte[] {
  if (!/\bwith\b/i.test(text)) return [];
  const found: Cte[] = [];
  for (const match of text.matchAll(head)) {
    const [whole, name = '', listed] = match;
    const body = bodyAt(text, match.index + whole.length);
    const columns = listed === undefined ? selectedIn(body) : listed.split(',').map((one) => one.trim());
    found.push({ name, columns: columns.filter((one) => one !== '') });
    if (found.length >= ctesMax) break;
  }
  return found;
}

/** The text in brackets that begins at `start`; an open bracket ends with the text. */
function bodyAt(text: string, start: number): string {
  let depth = 1;
  for (let at = start; at < text.length; at++) {
    if (text[at] === '(') depth++;
    else if (text[at] === ')' && --depth === 0) return text.slice(start, at);
  }
  return text.slice(start);
}

/** The names of what a SELECT returns; expressions without a name are left out. */
function selectedIn(body: string): string[] {
  const list = /^\s*select\s+(?:distinct\s+)?/i.exec(body);
  if (list === null) return [];
  const items: string[] = [''];
  let depth = 0;
  for (const [token] of body.slice(list[0].length).matchAll(/\w+|[^\w]/g)) {
    if (depth === 0 && /^(from|where|union|limit|order)$/i.test(token)) break;
    if (token === '(') depth++;
    if (token === ')') depth--;
    if (token === ',' && depth === 0) items.push('');
    else items[items.length - 1] += token;
  }
  return items.flatMap((item) => lastName(item) ?? []);
}

/** The name that ends an expression. It is searched from the end: a literal can be one word of megabytes. */
function lastName(item: string): string | undefined {
  const text = item.trimEnd().replace(/"$/, '');
  let start = text.length;
  while (start > 0 && /[\w$]/.test(text[start - 1] as string)) start--;
  const word = text.slice(start);
  const begin = word.search(/[A-Za-z_]/);
  return begin === -1 ? undefined : word.slice(begin);
}
