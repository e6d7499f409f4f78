/** Ensures that each of a few documents has a sentence in the summary, if the budget allows it. */

export interface Coverage {
  /** Returns false if the sentence would use up the places or words that a document without a sentence needs. */
  accepts(sentence: Covered, wordsLeft: number): boolean;
  /** Returns true if this completes the coverage. */
  add(sentence: Covered): boolean;
  /** Call this if the remaining documents cannot be covered. From then on, every sentence is accepted. */
  end(): void;
}

interface Covered {
  document: number;
  words: number;
}

/** With more documents, statements that they share matter more than a sentence of each. */
const documentsMax = 4;

export function createCoverage(
  sentences: readonly Covered[],
  { sentencesMax, wordsMax }: { sentencesMax: number; wordsMax: number },
): Coverage {
  const open = shortestByDocument(sentences);
  let reserved = 0;
  for (const words of open.values()) reserved += words;
  if (open.size < 2 || open.size > Math.min(documentsMax, sentencesMax) || reserved > wordsMax) open.clear();
  return {
    accepts: ({ document, words }, wordsLeft) => {
      if (open.size === 0) return true;
      const own = open.get(document);
      return own !== undefined && words <= wordsLeft - (reserved - own);
    },
    add: ({ document }) => {
      const own = open.get(document);
      if (own === undefined) return false;
      open.delete(document);
      reserved -= own;
      return open.size === 0;
    },
    end: () => open.clear(),
  };
}

/** Returns the number of words of the shortest sentence of each document. Empty if there are too many documents. */
export function shortestByDocument(sentences: readonly Covered[]): Map<number, number> {
  const shortest = new Map<number, number>();
  for (const { document, words } of sentences) {
    shortest.set(document, Math.min(words, shortest.get(document) ?? words));
  }
  if (shortest.size > documentsMax) shortest.clear();
  return shortest;
}
