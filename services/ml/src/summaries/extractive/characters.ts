/** The classes of characters that decide where a sentence ends. */

const set = (characters: string) => new Set(Array.from(characters, (character) => character.charCodeAt(0)));

const terminators = set('.!?…。！？｡؟۔।॥։።៕។။⁇⁈⁉‼፧');
/** These end a sentence even if no space follows. */
const wideTerminators = set('。！？｡؟۔।॥።។៕။፧');
const closing = set('"\'”’»)]}」』）》】〉›');
const opening = set('"\'“‘„‚«»‹›([{「『（《【〈¿¡');
/** Languages differ in which side these stand on: „so“, »so«. */
const eitherSide = set('“‘«‹');
const quotes = set('"\'“”‘’„‚«»‹›「」『』');
const wideBrackets = set('（《【〈');
const bullets = set('•⁃◦▪●‣·');
const dashes = set('-–—―');

export const isTerminator = (code: number) =>
  code === 0x2e || code === 0x21 || code === 0x3f ? true : code > 0x7f && terminators.has(code);
export const isWideTerminator = (code: number) => code > 0x7f && wideTerminators.has(code);
export const isClosing = (code: number) => closing.has(code);
export const isOpening = (code: number) => opening.has(code);
export const isOnEitherSide = (code: number) => eitherSide.has(code);
export const isQuote = (code: number) => quotes.has(code);
export const isBracket = (code: number) =>
  code === 0x28 || code === 0x5b || code === 0x7b ? true : code > 0x2fff && wideBrackets.has(code);
export const isBullet = (code: number) => bullets.has(code);
export const isDash = (code: number) => dashes.has(code);

export const isSpace = (code: number) =>
  code === 0x20 ||
  (code >= 0x09 && code <= 0x0d) ||
  code === 0xa0 ||
  code === 0x1680 ||
  (code >= 0x2000 && code <= 0x200a) ||
  code === 0x2028 ||
  code === 0x2029 ||
  code === 0x202f ||
  code === 0x205f ||
  code === 0x3000 ||
  code === 0xfeff;

export const isDigit = (code: number) => code >= 0x30 && code <= 0x39;

/** Thai and Lao. */
export const isThai = (code: number) => code >= 0x0e00 && code <= 0x0eff;
export const isArmenian = (code: number) => code >= 0x0531 && code <= 0x058f;
export const isGreek = (code: number) =>
  (code >= 0x0370 && code <= 0x03ff) || (code >= 0x1f00 && code <= 0x1fff);
