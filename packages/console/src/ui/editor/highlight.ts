/** Colours of a statement before its editor is loaded. Only for the eye: the editor has a real grammar. */

export interface Piece {
  text: string;
  kind: '' | 'keyword' | 'string' | 'number' | 'comment' | 'variable';
}

const keywords = new Set(
  `select from where and or not in is null as on using join left right inner outer full cross lateral group by order having limit offset
   union all distinct insert into values update set delete returning with recursive case when then else end between like ilike exists
   asc desc nulls first last create table alter drop view index primary key references default cast true false interval count sum avg
   min max over partition filter any some array merge replace truncate call explain show describe fetch rows only except intersect
   for conflict do nothing current_date current_timestamp`.split(/\s+/),
);

const token =
  /(?<comment>--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|(?<string>'(?:[^'\\]|\\.|'')*(?:'|$))|(?<quoted>"[^"]*(?:"|$)|`[^`]*(?:`|$))|(?<variable>(?<![:\w]):[A-Za-z_]\w*|\{\{\s*\w+\s*\}\})|(?<number>\b\d+(?:\.\d+)?\b)|(?<word>[A-Za-z_]\w*)/g;

export function pieces(text: string): Piece[] {
  const found: Piece[] = [];
  let at = 0;
  for (const match of text.matchAll(token)) {
    const { comment, string, variable, number, word } = match.groups ?? {};
    const kind = comment
      ? 'comment'
      : string
        ? 'string'
        : variable
          ? 'variable'
          : number
            ? 'number'
            : word && keywords.has(word.toLowerCase())
              ? 'keyword'
              : '';
    if (kind === '') continue;
    if (match.index > at) found.push({ text: text.slice(at, match.index), kind: '' });
    found.push({ text: match[0], kind });
    at = match.index + match[0].length;
  }
  if (at < text.length) found.push({ text: text.slice(at), kind: '' });
  return found;
}
