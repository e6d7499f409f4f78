/** Words of a text: runs of letters and digits; Han and kana by character, Thai and its neighbours by dictionary. */

const southeast = /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]/;
const han = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;
/** A run of more than 64 characters is no word but hostile: it is read in parts. */
const pattern =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]|[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]{1,256}|[\p{L}\p{M}\p{N}]{1,64}(?:['’][\p{L}\p{M}\p{N}]{1,20})?/gu;
const asciiPattern = /[a-z0-9]{1,64}(?:'[a-z0-9]{1,20})?/g;
const beyondAscii = /[^\p{ASCII}]/u;

export const isHan = (word: string) => han.test(word);

export interface WordReader {
  /** Lower-case words in text order. */
  read(sentence: string): string[];
}

export function createWordReader(): WordReader {
  let dictionary: Intl.Segmenter | undefined;
  const split = (run: string): string[] => {
    dictionary ??= new Intl.Segmenter('th', { granularity: 'word' });
    return Array.from(dictionary.segment(run), ({ segment }) => segment);
  };
  return {
    read: (sentence) => {
      if (!beyondAscii.test(sentence)) return sentence.toLowerCase().match(asciiPattern) ?? [];
      const words = sentence.normalize('NFKC').toLowerCase().replaceAll('’', "'").match(pattern) ?? [];
      return words.some((word) => southeast.test(word))
        ? words.flatMap((word) => (southeast.test(word) ? split(word) : [word]))
        : words;
    },
  };
}

/**
 * Length in words as a reader counts: runs between spaces, and one for each Han or kana character; four letters of
 * Thai and its neighbours make a word.
 */
export function countWords(text: string): number {
  if (!beyondAscii.test(text)) return text.match(/\S+/g)?.length ?? 0;
  const runs = text.match(/\S+/g) ?? [];
  let count = 0;
  for (const run of runs) {
    const characters = run.match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/gu)?.length ?? 0;
    const letters = run.match(/[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]/g)?.length ?? 0;
    count += characters + letters === 0 ? 1 : Math.max(1, characters + Math.ceil(letters / 4));
  }
  return count;
}

/** The beginning of a text, at most so many words of it; never empty for a text that is not blank. */
export function cutWords(text: string, wordsMax: number): string {
  let end = 0;
  let left = wordsMax;
  for (const { 0: run, index } of text.matchAll(/\S+/g)) {
    const words = countWords(run);
    if (words > left) {
      if (end === 0) end = index + Array.from(run).slice(0, wordsMax).join('').length;
      break;
    }
    left -= words;
    end = index + run.length;
  }
  return text.slice(0, end);
}
