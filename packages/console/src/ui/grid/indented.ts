import { isJson } from '../../api/exact.ts';

/** JSON with line breaks, but with the digits that it came with. Other texts stay as they are. */
export function indented(text: string): string {
  if (!/^[[{]/.test(text) || text.length > 200_000 || !isJson(text)) return text;
  let depth = 0;
  const pad = () => `\n${'  '.repeat(depth)}`;
  // Databases differ in the spaces that they write.
  return text.replaceAll(/"(?:[^"\\]|\\.)*"|[{[]\s*[}\]]|[{}[\],:]|\s+/g, (token) => {
    if (token.length > 1 && /^[{[]/.test(token)) return `${token[0]}${token.at(-1)}`;
    if (token === '{' || token === '[') {
      depth++;
      return token + pad();
    }
    if (token === '}' || token === ']') {
      depth = Math.max(0, depth - 1);
      return pad() + token;
    }
    if (token === ',') return token + pad();
    if (token === ':') return ': ';
    return token.trim() === '' ? '' : token;
  });
}
