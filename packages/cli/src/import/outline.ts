/** Where quotes, comments and parentheses of SQL begin and end: enough to see what a part of a text is. */

export type Dialect = 'postgres' | 'mysql';

/** Texts in quotes, and names. The first alternative that matches wins. */
export const quotes: Record<Dialect, string> = {
  postgres: String.raw`(?<![\w$])[eE]'(?:[^'\\]|\\[\s\S]|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(?<tag>[A-Za-z_]\w*|)\$[\s\S]*?\$\k<tag>\$`,
  mysql: String.raw`'(?:[^'\\]|\\[\s\S]|'')*'|"(?:[^"\\]|\\[\s\S]|"")*"|${'`[^`]*`'}`,
};
/** PostgreSQL's comments have others in them: here to this depth, because a regular expression cannot count. */
const nested = (depth: number): string =>
  String.raw`\/\*(?:[^*/]|\*(?!\/)|\/(?!\*)${depth === 0 ? '' : `|${nested(depth - 1)}`})*\*\/`;
export const comments: Record<Dialect, string> = {
  postgres: String.raw`--[^\n\r]*|${nested(8)}`,
  // `5--3` is a subtraction.
  mysql: String.raw`--(?=\s|$)[^\n]*|#[^\n]*|\/\*[\s\S]*?\*\/`,
};

export interface Outline {
  /** The text outside of quotes, comments and parentheses, with blanks in their place. */
  text: string;
  /** Each parenthesis has its partner. */
  isBalanced: boolean;
}

export function outlineOf(text: string, dialect: Dialect): Outline {
  const pattern = new RegExp(`${comments[dialect]}|${quotes[dialect]}|[()]|[\\s\\S]`, 'g');
  let depth = 0;
  let isBalanced = true;
  let outline = '';
  for (const [token] of text.matchAll(pattern)) {
    if (token === '(') depth++;
    if (token === ')' && --depth < 0) isBalanced = false;
    outline += depth > 0 || token === ')' || token.length > 1 ? ' '.repeat(token.length) : token;
  }
  return { text: outline, isBalanced: isBalanced && depth === 0 };
}

/** A `WITH` that writes runs under a command that writes. */
export function commandOf(words: string): string {
  const first = /[A-Za-z]+/.exec(words)?.[0].toUpperCase() ?? '';
  const writing = /\b(insert|update|delete|merge)\b/i.exec(words)?.[0].toUpperCase();
  return first === 'WITH' ? (writing ?? 'SELECT') : ['VALUES', 'TABLE'].includes(first) ? 'SELECT' : first;
}
