/** The function of a sentence in its text, recognized by its form: a question, speech, a statement of the authors. */

const question = /[?？؟]["'”’»)\]」』]*$/;
/** Quotation marks and the text after them. A single mark counts at the start of a word only, else it is an apostrophe. */
const quoted = /["“„«][^"”“»]*|(?:^|\s)['‘].*/s;
const speechShare = 1 / 3;
/** Authors describe their work. After the cue phrases of Edmundson, New Methods in Automatic Extracting, 1969. */
const cue =
  /\bwe (?:\w{1,20}ly )?(?:propos|present|introduc|show|find|found|demonstrat|develop|describ|report|stud|investigat|argu|prov|conclud|suggest|observ)|\b(?:this|our|these) (?:paper|study|work|article|report|approach|method|result|finding|data)/i;

export interface SentenceCues {
  question: boolean;
  /** More than a third is quoted speech. */
  speech: boolean;
  /** States the purpose or the result of the text. English only. */
  cue: boolean;
}

export function cuesOf(text: string): SentenceCues {
  const quotedLength = quoted.exec(text)?.[0].length ?? 0;
  return {
    question: question.test(text),
    speech: quotedLength > speechShare * text.length,
    cue: cue.test(text),
  };
}
