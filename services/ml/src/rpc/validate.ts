/** Validates the requests of classifiers. Faults name fields of the message; the gateway makes JSON Pointers of them. */

import { randomBytes } from 'node:crypto';
import type { FieldFault } from '@datahub/contract/validation-error';
import { fieldError, type HubError } from '@datahub/service-kit/call/error';
import { topMax } from '../classifiers/predict-bounds.ts';
import type { TrainExample } from '../classifiers/train-batch.ts';

const batchMax = 10_000;
const labelCharactersMax = 200;
/** Characters of one text. The learner ignores all but the first 20,000. */
const textCharactersMax = 4_194_304;
const faultsMax = 50;
// biome-ignore lint/suspicious/noControlCharactersInRegex: this matches control characters.
const controlCharacters = /[\u0000-\u001f\u007f-\u009f]/;

/** The trimmed name; a random one if it is empty. */
export function checkName(text: string): string {
  const name = text.trim();
  if (name === '') return `classifier-${randomBytes(3).toString('hex')}`;
  const detail = faultOfLabel(name);
  if (detail !== undefined) throw invalid([{ path: ['name'], detail }]);
  return name;
}

/** Trims the labels. Texts stay as they are. */
export function checkExamples(examples: { label: string; context: string }[]): TrainExample[] {
  const faults: FieldFault[] = [];
  if (examples.length < 1 || examples.length > batchMax) {
    throw invalid([{ path: ['examples'], detail: `must have 1 to ${batchMax} entries` }]);
  }
  const checked = examples.map(({ label, context }, i) => {
    const trimmed = label.trim();
    const labelFault = faultOfLabel(trimmed);
    if (labelFault !== undefined) faults.push({ path: ['examples', i, 'label'], detail: labelFault });
    const textFault = faultOfText(context);
    if (textFault !== undefined) faults.push({ path: ['examples', i, 'context'], detail: textFault });
    return { label: trimmed, text: context };
  });
  if (faults.length > 0) throw invalid(faults);
  return checked;
}

export function checkTop(top: number): void {
  if (top >= 1 && top <= topMax) return;
  throw invalid([{ path: ['top'], detail: `must be 1 to ${topMax}` }]);
}

export function checkTexts(texts: string[]): void {
  if (texts.length < 1 || texts.length > batchMax) {
    throw invalid([{ path: ['contexts'], detail: `must have 1 to ${batchMax} entries` }]);
  }
  const faults: FieldFault[] = [];
  for (const [i, text] of texts.entries()) {
    const detail = faultOfText(text);
    if (detail !== undefined) faults.push({ path: ['contexts', i], detail });
  }
  if (faults.length > 0) throw invalid(faults);
}

function faultOfLabel(label: string): string | undefined {
  const length = [...label].length;
  if (length < 1 || length > labelCharactersMax) return `must have 1 to ${labelCharactersMax} characters`;
  return controlCharacters.test(label) || !label.isWellFormed()
    ? 'must be valid Unicode without control characters'
    : undefined;
}

function faultOfText(text: string): string | undefined {
  if (text.length > textCharactersMax) return `must have at most ${textCharactersMax} characters`;
  return text.isWellFormed() ? undefined : 'must be valid Unicode';
}

const invalid = (faults: FieldFault[]): HubError => fieldError(faults.slice(0, faultsMax));
