/** The names and columns of the parts of a WITH, as far as a look at the text tells. */

export interface Cte {
  name: string;
  columns: string[];
}

const ctesMax = 50;
const head =
  /(?:\bwith\s+(?:recursive\s+)?|,\s*)([A-Za-z_][\w$]*)\s*(?:\(([^()]*)\)\s*)?\bas\s+(?:not\s+)?(?:materialized\s+)?\(/gi;

/** The names as the engine knows them: PostgreSQL folds those without quotes. */
export function ctesIn(text: string, engine: string): Cte[] {
  if (!/\bwith\b/i.test(text)) return [];
  const known = (name: string) => (engine === 'postgres' ? name.toLowerCase() : name);
  const found: Cte[] = [];
  for (const match of text.matchAll(head)) {
    const [whole, name = '', listed] = match;
    const body = bodyAt(text, match.index + whole.length);
    const items = listed?.split(',') ?? selectedIn(body);
    found.push({ name: known(name), columns: items.flatMap((item) => lastName(item, known) ?? []) });
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

/** The expressions that a SELECT returns. */
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
  return items;
}

/** The name that ends an expression. It is searched from the end: a literal can be one word of megabytes. */
function lastName(item: string, known: (name: string) => string): string | undefined {
  const written = item.trimEnd();
  const text = written.replace(/["`]$/, '');
  let start = text.length;
  while (start > 0 && /[\w$]/.test(text[start - 1] as string)) start--;
  const word = text.slice(start);
  const begin = word.search(/[A-Za-z_]/);
  if (begin === -1) return undefined;
  return text === written ? known(word.slice(begin)) : word.slice(begin);
}
