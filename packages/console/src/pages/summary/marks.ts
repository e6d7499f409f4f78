/** Finds the sentences of an extractive summary in the texts that they were taken from. */

export interface Piece {
  text: string;
  marked: boolean;
}

const sentences = new Intl.Segmenter(undefined, { granularity: 'sentence' });
const squeezed = (text: string) => text.replaceAll(/\s+/g, ' ').trim();

export function marksOf(source: string, summary: string): Piece[] {
  const wanted = squeezed(summary);
  const pieces: Piece[] = [];
  for (const { segment } of sentences.segment(source)) {
    const words = squeezed(segment);
    const marked = words.length > 1 && wanted.includes(words);
    const last = pieces.at(-1);
    if (last?.marked === marked) last.text += segment;
    else pieces.push({ text: segment, marked });
  }
  return pieces;
}
