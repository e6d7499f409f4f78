/** What a sentence does in a text, beside what it is about; told by its outer form. */

const question = /[?？؟]["'”’»)\]」』]*$/;
/** Quotation marks and what follows them; a single one only at the beginning of a word, or it is an apostrophe. */
const quoted = /["“„«][^"”“»]*|(?:^|\s)['‘].*/s;
const speechShare = 1 / 3;
/** After the cue phrases of Edmundson, New Methods in Automatic Extracting, 1969: authors who tell what they did. */
const cue =
  /\bwe (?:\w{1,20}ly )?(?:propos|present|introduc|show|find|found|demonstrat|develop|describ|report|stud|investigat|argu|prov|conclud|suggest|observ)|\b(?:this|our|these) (?:paper|study|work|article|report|approach|method|result|finding|data)/i;

export interface Part {
  question: boolean;
  /** A third of it or more is what somebody said. */
  speech: boolean;
  /** Tells what the text is for, or comes to. English only. */
  cue: boolean;
}

export function partOf(text: string): Part {
  const said = quoted.exec(text)?.[0].length ?? 0;
  return { question: question.test(text), speech: said > speechShare * text.length, cue: cue.test(text) };
}
