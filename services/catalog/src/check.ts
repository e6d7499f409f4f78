/** Collects the faults of a request, so that one error names them all. */

import type { EngineName } from '@datahub/contract/engines';
import { type Bounds, faultOfLabel, pathLength } from '@datahub/contract/limits';
import { faultsOfSession, type SessionSettings, toSessionJson } from '@datahub/contract/session-settings';
import type { FieldFault, FieldPath } from '@datahub/contract/validation-error';
import { fieldError, HubError } from '@datahub/service-kit/call/error';

export interface Checker {
  fault(path: FieldPath, detail: string): void;
  /** Returns the label trimmed; see `faultOfLabel`. */
  label(path: FieldPath, text: string): string;
  text(path: FieldPath, text: string, bounds: Bounds): string;
  /** Returns undefined for an empty text, which stands for none. */
  path(path: FieldPath, text: string, pattern: RegExp): string | undefined;
  integer(path: FieldPath, value: number, bounds: Bounds): number;
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
      const detail = faultOfLabel(label);
      if (detail !== undefined) fault(path, detail);
      return label;
    },
    text: (path, text, { min, max }) => {
      if (text.length < min || text.length > max) fault(path, `must have ${min} to ${max} characters`);
      if (text.includes('\0') || !text.isWellFormed()) fault(path, 'must be valid Unicode without NUL');
      return text;
    },
    path: (path, text, pattern) => {
      if (text === '') return undefined;
      const { min, max } = pathLength;
      if (text.length > max || !pattern.test(text))
        fault(path, `must have ${min} to ${max} characters and match ${pattern.source}`);
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

interface Given {
  path: FieldPath;
  engine: EngineName;
}

/** Returns the session as it is stored; undefined for one that sets nothing. Throws OPTION_REFUSED for other engines. */
export function checkSession(
  check: Checker,
  json: string | undefined,
  { path, engine }: Given,
): string | undefined {
  if (json === undefined || json === '') return undefined;
  if (engine !== 'postgres')
    throw new HubError('OPTION_REFUSED', 'session is only for PostgreSQL. Leave it out.', {
      errors: [{ path, detail: 'must be left out, because the engine is not PostgreSQL' }],
      retryable: false,
    });
  let session: unknown;
  try {
    session = JSON.parse(json);
  } catch {
    session = undefined;
  }
  const faults = faultsOfSession(session);
  for (const fault of faults) check.fault([...path, ...fault.path], fault.detail);
  return faults.length > 0 ? undefined : toSessionJson(session as SessionSettings);
}
