/** Validates the requests of classifiers. Faults name fields of the message; the gateway makes JSON Pointers of them. */

import { randomBytes } from 'node:crypto';
import { classifierLimits, faultOfExampleText, faultOfLabel } from '@datahub/contract/limits';
import type { FieldFault } from '@datahub/contract/validation-error';
import { fieldError, type HubError } from '@datahub/service-kit/call/error';
import type { TrainExample } from '../classifiers/train-batch.ts';

const { batch, top: topBounds } = classifierLimits;
/** Characters of one text. The learner ignores all but the first 20,000. */
const textCharactersMax = 4_194_304;
const faultsMax = 50;

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
  if (examples.length < batch.min || examples.length > batch.max) {
    throw invalid([{ path: ['examples'], detail: `must have ${batch.min} to ${batch.max} entries` }]);
  }
  const checked = examples.map(({ label, context }, i) => {
    const trimmed = label.trim();
    const labelFault = faultOfLabel(trimmed);
    if (labelFault !== undefined) faults.push({ path: ['examples', i, 'label'], detail: labelFault });
    const textFault = faultOfExampleText(context);
    if (textFault !== undefined) faults.push({ path: ['examples', i, 'context'], detail: textFault });
    return { label: trimmed, text: context };
  });
  if (faults.length > 0) throw invalid(faults);
  return checked;
}

export function checkTop(top: number): void {
  if (top >= topBounds.min && top <= topBounds.max) return;
  throw invalid([{ path: ['top'], detail: `must be ${topBounds.min} to ${topBounds.max}` }]);
}

export function checkTexts(texts: string[]): void {
  if (texts.length < batch.min || texts.length > batch.max) {
    throw invalid([{ path: ['contexts'], detail: `must have ${batch.min} to ${batch.max} entries` }]);
  }
  const faults: FieldFault[] = [];
  for (const [i, text] of texts.entries()) {
    const detail = faultOfText(text);
    if (detail !== undefined) faults.push({ path: ['contexts', i], detail });
  }
  if (faults.length > 0) throw invalid(faults);
}

function faultOfText(text: string): string | undefined {
  if (text.length > textCharactersMax) return `must have at most ${textCharactersMax} characters`;
  return text.isWellFormed() ? undefined : 'must be valid Unicode';
}

const invalid = (faults: FieldFault[]): HubError => fieldError(faults.slice(0, faultsMax));
