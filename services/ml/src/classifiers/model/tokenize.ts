/** Text → tokens, in any language, in time linear in its length. */

/** What comes after this many characters is not read. */
export const textCharactersMax = 20_000;

/** Scripts written without spaces: each character is a token. */
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

/** One such character with its marks; a run of letters, marks and digits with inner apostrophes; any other sign alone. */
const tokenShape =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]\p{M}*|(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}])[\p{L}\p{M}\p{N}])+(?:['’](?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}])[\p{L}\p{M}\p{N}])+)*|\S/gu;

/** Longer runs are no words; what stands for them is their beginning. */
const tokenCharactersMax = 64;

export function tokenize(text: string): string[] {
  const bounded = text.length > textCharactersMax ? text.slice(0, textCharactersMax).toWellFormed() : text;
  const tokens = bounded.normalize('NFKC').toLowerCase().match(tokenShape) ?? [];
  return tokens.map((token) =>
    token.length > tokenCharactersMax ? token.slice(0, tokenCharactersMax) : token,
  );
}

/** True for a run of letters or digits, whose inside says something; signs and unspaced characters have none. */
export function hasInside(token: string): boolean {
  return token.length > 1 && !unspaced.test(token) && /[\p{L}\p{N}]/u.test(token);
}
