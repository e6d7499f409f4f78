/** Validates the input of a summary, before a worker thread starts with it. */

import { fieldError, HubError } from '@datahub/service-kit/call/error';
import { sentenceLanguages } from './full-stop.ts';
import { primaryOf, stopWordLanguages } from './stop-words.ts';

export interface SummaryOptions {
  /** At most this many sentences. */
  sentences?: number | undefined;
  /** At most this many words. VALIDATION if the shortest sentence has more. */
  maxWords?: number | undefined;
  /** A BCP 47 tag of one of the known languages. If absent, the language is detected. */
  language?: string | undefined;
}

/** The most UTF-16 code units of all passages. More give TOO_LARGE. */
export const summaryCharactersMax = 8 * 1024 * 1024;
/** The most sentences of all passages. More give TOO_LARGE. */
export const summarySentencesMax = 100_000;

export function countCharacters(documents: readonly (readonly string[])[]): number {
  let characters = 0;
  for (const passages of documents) for (const passage of passages) characters += passage.length;
  return characters;
}

/** The languages with stop words or rules for sentences. */
const knownLanguages = [...new Set([...stopWordLanguages, ...sentenceLanguages])].sort();
const languageTag = /^[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{1,8}){0,4}$/;

/** Returns the number of characters. Throws VALIDATION or TOO_LARGE. */
export function checkRequest(documents: readonly (readonly string[])[], options: SummaryOptions): number {
  checkCount('sentences', options.sentences);
  checkCount('maxWords', options.maxWords);
  if (
    options.language !== undefined &&
    !(languageTag.test(options.language) && knownLanguages.includes(primaryOf(options.language)))
  ) {
    const detail = `must be one of ${knownLanguages.join(', ')}, optionally with a region such as "pt-BR"; leave it out to detect the language`;
    throw fieldError([{ path: ['language'], detail }]);
  }
  const characters = countCharacters(documents);
  if (characters > summaryCharactersMax) {
    throw new HubError(
      'TOO_LARGE',
      `The texts have ${characters} characters; at most ${summaryCharactersMax} can be summarized at a time. Send fewer.`,
    );
  }
  if (!documents.some((passages) => passages.some((passage) => /\S/.test(passage)))) {
    const detail = 'contains no text; send at least one text that is not blank';
    throw fieldError([{ path: ['documents'], detail }]);
  }
  return characters;
}

export function checkSentences(count: number): void {
  if (count <= summarySentencesMax) return;
  throw new HubError(
    'TOO_LARGE',
    `The texts have ${count} sentences; at most ${summarySentencesMax} can be summarized at a time. Send fewer.`,
  );
}

function checkCount(name: string, value: number | undefined): void {
  if (value === undefined || (Number.isInteger(value) && value >= 1)) return;
  throw fieldError([{ path: [name], detail: 'must be a whole number of at least 1' }]);
}
