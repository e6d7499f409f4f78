/**
 * Light stemming: only to count "price" and "prices" as one word. English loses its commonest endings; in other
 * languages with letters the first letters of a long word stand for it, which serves inflected languages nearly as
 * well as their stemmers do (McNamee and Mayfield, Character N-Gram Tokenization, 2004).
 */
export function createStemmer(language: string): (word: string) => string {
  if (language === 'en') return stemEnglish;
  if (language === 'ar') return (word) => (word.length > 4 && word.startsWith('ال') ? word.slice(2) : word);
  return (word) => (word.length > prefixLength ? word.slice(0, prefixLength) : word);
}

const prefixLength = 6;

function stemEnglish(word: string): string {
  let stem = word.endsWith("'s") ? word.slice(0, -2) : word;
  if (stem.length < 4) return stem;
  stem = singular(stem);
  for (const [ending, keep] of englishEndings) {
    if (stem.length - ending.length >= keep && stem.endsWith(ending)) {
      stem = undouble(stem.slice(0, -ending.length));
      break;
    }
  }
  return stem.length > 3 && (stem.endsWith('e') || stem.endsWith('y') || stem.endsWith('i'))
    ? stem.slice(0, -1)
    : stem;
}

/** The longest first, with the letters that must stay before it. */
const englishEndings: readonly (readonly [string, number])[] = [
  ['ations', 3],
  ['ation', 3],
  ['ingly', 3],
  ['ment', 4],
  ['ness', 4],
  ['ably', 4],
  ['edly', 3],
  ['ive', 4],
  ['ion', 4],
  ['ing', 3],
  ['ed', 3],
  ['er', 4],
  ['ly', 3],
];

function singular(word: string): string {
  if (!word.endsWith('s') || word.endsWith('ss') || word.endsWith('us') || word.endsWith('is')) return word;
  if (word.endsWith('ies') && word.length > 4) return word.slice(0, -2);
  if (/(?:ss|x|ch|sh|z)es$/.test(word)) return word.slice(0, -2);
  return word.slice(0, -1);
}

const undouble = (word: string) => (/([bdfgmnprt])\1$/.test(word) ? word.slice(0, -1) : word);
