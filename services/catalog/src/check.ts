/** Collects every fault of a request, so that the caller is told all of them at once. */

import { type Fault, HubError } from '@datahub/service-kit/call/error';

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
const controlCharacters = /[\u0000-\u001f\u007f-\u009f]/;

export interface Checker {
  fault(pointer: string, detail: string): void;
  /** A label, trimmed: 1 to 200 characters, any Unicode but control characters. */
  label(pointer: string, text: string): string;
  text(pointer: string, text: string, bounds: { min: number; max: number }): string;
  integer(pointer: string, value: number, bounds: { min: number; max: number }): number;
  oneOf<T extends string>(pointer: string, value: string, allowed: readonly T[]): T;
  /** Throws VALIDATION if there was any fault. */
  done(): void;
}

export function createChecker(): Checker {
  const faults: Fault[] = [];
  const fault = (pointer: string, detail: string) => {
    faults.push({ pointer, detail });
  };
  return {
    fault,
    label: (pointer, text) => {
      const label = text.trim();
      const length = [...label].length;
      if (length < 1 || length > 200) fault(pointer, 'must have 1 to 200 characters');
      if (controlCharacters.test(label)) fault(pointer, 'must not contain control characters');
      if (!label.isWellFormed()) fault(pointer, 'must be valid Unicode');
      return label;
    },
    text: (pointer, text, { min, max }) => {
      if (text.length < min || text.length > max) fault(pointer, `must have ${min} to ${max} characters`);
      if (text.includes('\0') || !text.isWellFormed()) fault(pointer, 'must be valid Unicode without NUL');
      return text;
    },
    integer: (pointer, value, { min, max }) => {
      if (!Number.isInteger(value) || value < min || value > max) {
        fault(pointer, `must be a whole number from ${min} to ${max}`);
      }
      return value;
    },
    oneOf: (pointer, value, allowed) => {
      const found = allowed.find((one) => one === value);
      if (found === undefined) fault(pointer, `must be one of ${allowed.join(', ')}`);
      return found ?? (allowed[0] as (typeof allowed)[number]);
    },
    done: () => {
      if (faults.length > 0) throw createValidationError(faults);
    },
  };
}

function createValidationError(faults: Fault[]): HubError {
  const [first] = faults;
  const more = faults.length > 1 ? `, and ${faults.length - 1} more` : '';
  return new HubError('VALIDATION', `${first?.pointer} ${first?.detail}${more}.`, { errors: faults });
}
