/**
 * Validates the requests of classifiers. Faults name fields of the message; the gateway converts them to JSON Pointers.
 */

import { randomBytes } from 'node:crypto';
import { classifierLimits, faultOfExampleText, faultOfLabel } from '@datahub/contract/limits';
import type { FieldFault } from '@datahub/contract/validation-error';
import { fieldError, type HubError } from '@datahub/service-kit/call/error';
import { normalized } from '@datahub/service-kit/normalized';
import { createLoopYield } from '@datahub/service-kit/yield-to-loop';
import type { TrainExample } from '../classifiers/train-batch.ts';

const { batch, top: topBounds, examplesPage: pageLimit } = classifierLimits;
const faultsMax = 50;

export const randomName = () => `classifier-${randomBytes(3).toString('hex')}`;

/** Returns the trimmed name. */
export function checkName(text: string): string {
  const name = text.trim();
  const detail = faultOfLabel(name);
  if (detail !== undefined) throw invalid([{ path: ['name'], detail }]);
  return name;
}

/** Labels that look the same are one class, however their accents are encoded. */
const composed = (label: string) => normalized(label.trim(), 'NFC');

/** Throws VALIDATION, or returns the trimmed and composed label. */
export function checkLabel(text: string): string {
  const label = composed(text);
  const detail = faultOfLabel(label);
  if (detail !== undefined) throw invalid([{ path: ['label'], detail }]);
  return label;
}

/** Rejects with VALIDATION, or resolves to the examples with trimmed and composed labels. Texts stay unchanged. */
export async function checkExamples(examples: { label: string; context: string }[]): Promise<TrainExample[]> {
  const faults: FieldFault[] = [];
  if (examples.length < batch.min || examples.length > batch.max) {
    throw invalid([{ path: ['examples'], detail: `must have ${batch.min} to ${batch.max} entries` }]);
  }
  const checked: TrainExample[] = [];
  const endOfTurn = createLoopYield();
  for (const [i, { label, context }] of examples.entries()) {
    const trimmed = composed(label);
    const labelFault = faultOfLabel(trimmed);
    if (labelFault !== undefined) faults.push({ path: ['examples', i, 'label'], detail: labelFault });
    const textFault = faultOfExampleText(context);
    if (textFault !== undefined) faults.push({ path: ['examples', i, 'context'], detail: textFault });
    checked.push({ label: trimmed, text: context });
    const turn = endOfTurn();
    if (turn !== undefined) await turn;
  }
  if (faults.length > 0) throw invalid(faults);
  return checked;
}

/** Throws VALIDATION, or returns the correction with a trimmed and composed label. Undefined members stay undefined. */
export function checkCorrection({
  label,
  context,
}: {
  label: string | undefined;
  context: string | undefined;
}): { label: string | undefined; text: string | undefined } {
  const trimmed = label === undefined ? undefined : composed(label);
  const labelFault = trimmed === undefined ? undefined : faultOfLabel(trimmed);
  const textFault = context === undefined ? undefined : faultOfExampleText(context);
  const faults: FieldFault[] = [];
  if (labelFault !== undefined) faults.push({ path: ['label'], detail: labelFault });
  if (textFault !== undefined) faults.push({ path: ['context'], detail: textFault });
  if (faults.length > 0) throw invalid(faults);
  return { label: trimmed, text: context };
}

export function checkPageLimit(limit: number): void {
  if (limit >= pageLimit.min && limit <= pageLimit.max) return;
  throw invalid([{ path: ['limit'], detail: `must be ${pageLimit.min} to ${pageLimit.max}` }]);
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
    const detail = faultOfExampleText(text);
    if (detail !== undefined) faults.push({ path: ['contexts', i], detail });
  }
  if (faults.length > 0) throw invalid(faults);
}

const invalid = (faults: FieldFault[]): HubError => fieldError(faults.slice(0, faultsMax));
