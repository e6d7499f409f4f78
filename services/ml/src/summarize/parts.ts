/** What a sentence does in a text, beside what it is about; told by its outer form. */

const question = /[?？؟]["'”’»)\]」』]*$/;
/** After the cue phrases of Edmundson, New Methods in Automatic Extracting, 1969: authors who tell what they did. */
const cue =
  /\bwe (?:\w{1,20}ly )?(?:propos|present|introduc|show|find|found|demonstrat|develop|describ|report|stud|investigat|argu|prov|conclud|suggest|observ)|\b(?:this|our|these) (?:paper|study|work|article|report|approach|method|result|finding|data)/i;

export interface Part {
  question: boolean;
  /** Tells what the text is for, or comes to. English only. */
  cue: boolean;
}

export function partOf(text: string): Part {
  return { question: question.test(text), cue: cue.test(text) };
}
