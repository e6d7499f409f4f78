/**
 * Compares where the summarizer, `Intl.Segmenter` and `natural` end sentences, on the cases of
 * `services/ml/test/summaries/extractive/sentences.txt` and of further files: `node bench/ml/sentences.ts [FILE.json…]`.
 * A file has `[{"language", "text", "sentences", "pysbd"?}]`, e.g. the golden rules of pySBD's tests with its own answers.
 * Prints the share in % of texts whose sentences all end where they should, by language, and the 95 % interval of the
 * difference between the summarizer and `Intl.Segmenter` by a paired bootstrap. `WRONG=1` prints what is wrong.
 */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { splitSentences } from '../../services/ml/src/summaries/extractive/segment.ts';
import { type Case, readCases } from '../../services/ml/test/summaries/extractive/sentence-cases.ts';

interface Measured extends Case {
  pysbd?: string[];
}

type Splitter = (text: string, item: Measured) => string[];

const { SentenceTokenizer } = createRequire(import.meta.url)('natural/lib/natural/tokenizers');
const natural: { tokenize(text: string): string[] } = new SentenceTokenizer();

const splitters: Record<string, Splitter> = {
  hub: (text, { language }) => splitSentences(text, language).map(({ start, end }) => text.slice(start, end)),
  intl: (text, { language }) =>
    Array.from(
      new Intl.Segmenter(language, { granularity: 'sentence' }).segment(text),
      ({ segment }) => segment,
    ),
  natural: (text) => natural.tokenize(text),
  pysbd: (text, { pysbd }) => pysbd ?? [text],
};

/** The places where sentences end, counted in characters that are not spaces. */
function endsOf(sentences: readonly string[]): string {
  let at = 0;
  return sentences
    .map((sentence) => (at += sentence.replace(/\s/g, '').length))
    .filter((end, i, ends) => end > (ends[i - 1] ?? 0))
    .join(' ');
}

function isExact(split: Splitter, item: Measured): boolean {
  try {
    return endsOf(split(item.text, item)) === endsOf(item.sentences);
  } catch {
    return false;
  }
}

measure('own', readCases());
for (const file of process.argv.slice(2)) measure(file, JSON.parse(readFileSync(file, 'utf8')));

function measure(name: string, cases: Measured[]): void {
  const names = Object.keys(splitters);
  const print = (cells: (string | number)[]) =>
    console.log(cells.map((cell) => String(cell).padStart(9)).join(''));
  print([name.slice(-9), 'cases', ...names, 'low', 'high']);
  const languages = [...new Set(cases.map(({ language }) => language))].sort();
  const sums = names.map(() => 0);
  for (const language of languages) {
    const items = cases.filter((item) => item.language === language);
    const right = names.map((splitter) =>
      items.map((item) => (isExact(splitters[splitter] as Splitter, item) ? 1 : 0)),
    );
    const shares = right.map(
      (hits) => (100 * hits.reduce((sum: number, hit) => sum + hit, 0)) / items.length,
    );
    shares.forEach((share, i) => {
      sums[i] = (sums[i] ?? 0) + share / languages.length;
    });
    const [low, high] = interval(right[0]?.map((hit, i) => hit - (right[1]?.[i] ?? 0)) ?? []);
    print([
      language,
      items.length,
      ...shares.map((share) => share.toFixed(1)),
      low.toFixed(1),
      high.toFixed(1),
    ]);
    if (process.env.WRONG !== undefined) {
      items.forEach((item, i) => {
        if (right[0]?.[i] === 1) return;
        const got = (splitters.hub as Splitter)(item.text, item).join(' | ');
        console.log(`  ${item.sentences.join(' | ')}\n  ${got}\n`);
      });
    }
  }
  print(['mean', cases.length, ...sums.map((sum) => sum.toFixed(1)), '', '']);
}

/** The 2.5 % and 97.5 % quantiles of the mean difference, in points. */
function interval(differences: readonly number[]): [number, number] {
  let state = 7;
  const random = () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state / 2 ** 32;
  };
  const means = Array.from({ length: 2_000 }, () => {
    let sum = 0;
    for (let i = 0; i < differences.length; i += 1) {
      sum += differences[Math.floor(random() * differences.length)] ?? 0;
    }
    return (100 * sum) / differences.length;
  }).sort((a, b) => a - b);
  return [means[50] ?? 0, means[1_949] ?? 0];
}
