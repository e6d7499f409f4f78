/** Validates the examples and texts of a body in the handler, so that one answer names every fault. */

import {
  faultOfExampleText,
  faultOfLabel,
  labelCharacters,
  untrimmedLabelCharacters,
} from '@datahub/contract/limits';
import { type Fault, faultsMax } from '../../http/request-error.ts';
import { type ItemRule, unknownMembers } from '../../http/validation.ts';

const known = ['label', 'context'];

function faultOf(name: string, value: unknown): string | undefined {
  if (value === undefined) return 'is missing';
  if (typeof value !== 'string') return 'must be a string';
  if (name !== 'label') return faultOfExampleText(value);
  // A character has at most two UTF-16 code units. Counting the characters of several megabytes would take too long.
  if (value.length > 2 * untrimmedLabelCharacters.max)
    return `must have ${labelCharacters.min} to ${labelCharacters.max} characters`;
  return faultOfLabel(value.trim());
}

/** Returns the faults of `label` and `context`. Ignores other members. */
export function faultsOfExample(example: object, pointer: string): Fault[] {
  return known.flatMap((name) => {
    const value = Object.hasOwn(example, name) ? example[name as keyof typeof example] : undefined;
    const detail = faultOf(name, value);
    return detail === undefined ? [] : [{ pointer: `${pointer}/${name}`, detail }];
  });
}

/** A text to predict follows the same rules as the text of an example. */
export const contextRule: ItemRule = {
  isValid: (item) => faultOf('context', item) === undefined,
  faultsOf: (item, pointer) => [{ pointer, detail: faultOf('context', item) ?? 'is invalid' }],
};

const hasOthers = (example: object) => {
  for (const name in example) if (!known.includes(name)) return true;
  return false;
};

export const exampleRule: ItemRule = {
  isValid: (item) =>
    typeof item === 'object' && item !== null && !hasOthers(item) && faultsOfExample(item, '').length === 0,
  faultsOf: (item, pointer) => {
    if (typeof item !== 'object' || item === null) return [{ pointer, detail: 'must be an object' }];
    return [...faultsOfExample(item, pointer), ...unknownMembers(item, known, pointer).slice(0, faultsMax)];
  },
};
