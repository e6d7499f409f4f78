/** Kinds of UTF-16 code units that the splitting of sentences and words asks for. */

const set = (characters: string) => new Set(Array.from(characters, (character) => character.charCodeAt(0)));

const terminators = set('.!?…。！？｡؟۔।॥։።៕។။⁇⁈⁉‼');
/** Those that end a sentence without a space behind them. */
const wideTerminators = set('。！？｡؟۔।॥።។៕။');
const closing = set('"\'”’»)]}」』）》】〉›');
const opening = set('"\'“‘„«([{「『（《【〈‹‚¿¡');

export const isTerminator = (code: number) =>
  code === 0x2e || code === 0x21 || code === 0x3f ? true : code > 0x7f && terminators.has(code);
export const isWideTerminator = (code: number) => code > 0x7f && wideTerminators.has(code);
export const isClosing = (code: number) => closing.has(code);
export const isOpening = (code: number) => opening.has(code);

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
