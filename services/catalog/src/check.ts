/** Collects every fault of a request, so that the caller is told all of them at once. */

import type { FieldFault, FieldPath } from '@datahub/contract/validation-error';
import { fieldError } from '@datahub/service-kit/call/error';

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
const controlCharacters = /[\u0000-\u001f\u007f-\u009f]/;

export interface Checker {
  fault(path: FieldPath, detail: string): void;
  /** A label, trimmed: 1 to 200 characters, any Unicode but control characters. */
  label(path: FieldPath, text: string): string;
  text(path: FieldPath, text: string, bounds: { min: number; max: number }): string;
  integer(path: FieldPath, value: number, bounds: { min: number; max: number }): number;
  oneOf<T extends string>(path: FieldPath, value: string, allowed: readonly T[]): T;
  /** Throws VALIDATION if there was any fault. */
  done(): void;
}

export function createChecker(): Checker {
  const faults: FieldFault[] = [];
  const fault = (path: FieldPath, detail: string) => {
    faults.push({ path, detail });
  };
  return {
    fault,
    label: (path, text) => {
      const label = text.trim();
      const length = [...label].length;
      if (length < 1 || length > 200) fault(path, 'must have 1 to 200 characters');
      if (controlCharacters.test(label)) fault(path, 'must not contain control characters');
      if (!label.isWellFormed()) fault(path, 'must be valid Unicode');
      return label;
    },
    text: (path, text, { min, max }) => {
      if (text.length < min || text.length > max) fault(path, `must have ${min} to ${max} characters`);
      if (text.includes('\0') || !text.isWellFormed()) fault(path, 'must be valid Unicode without NUL');
      return text;
    },
    integer: (path, value, { min, max }) => {
      if (!Number.isInteger(value) || value < min || value > max) {
        fault(path, `must be a whole number from ${min} to ${max}`);
      }
      return value;
    },
    oneOf: (path, value, allowed) => {
      const found = allowed.find((one) => one === value);
      if (found === undefined) fault(path, `must be one of ${allowed.join(', ')}`);
      return found ?? (allowed[0] as (typeof allowed)[number]);
    },
    done: () => {
      if (faults.length > 0) throw fieldError(faults);
    },
  };
}
