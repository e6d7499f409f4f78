/** No writer sets more marks on one letter (UAX #15, Stream-Safe Text Format). */
const marksMax = 30;
const marks = /\p{M}+/gu;

/**
 * `text.normalize(form)` in linear time: of more marks in a row it drops the rest. Sorting a long run of them takes
 * quadratic time, half a second for 20,000.
 */
export const normalized = (text: string, form: 'NFC' | 'NFKC' | 'NFKD'): string =>
  withoutExcessMarks(text).normalize(form);

export const withoutExcessMarks = (text: string): string =>
  text.replace(marks, (run) => (run.length > marksMax ? firstOf(run) : run));

/** A mark can be a pair of surrogates. */
const firstOf = (run: string): string =>
  Array.from(run.slice(0, 2 * marksMax))
    .slice(0, marksMax)
    .join('');
