/** Checks the secrets in a request: new values, masks of stored values, and passwords that `passwordFrom` provides. */

import type { EngineName } from '@datahub/contract/engines';
import { type Bounds, sourceLimits } from '@datahub/contract/limits';
import type { FieldPath } from '@datahub/contract/validation-error';
import type { SecretField } from '@datahub/sealing/envelope';
import type { Checker } from '../check.ts';
import type { Secret } from '../documents.ts';
import { looksLikeMask } from '../secret-mask.ts';

const { userLength } = sourceLimits;
/** MongoDB can run without users, so its user name may be empty. */
const userLengthOf: Record<EngineName, Bounds> = {
  postgres: userLength,
  mysql: userLength,
  mariadb: userLength,
  mongodb: { ...userLength, min: 0 },
};

export const settingPath = (name: string): FieldPath => ['connectionSettings', ...name.split('.')];

export function newSecret(
  check: Checker,
  field: SecretField,
  { value, engine }: { value: string; engine: EngineName },
): string {
  if (looksLikeMask(value)) check.fault(settingPath(field), 'is a mask, not a value');
  return check.text(settingPath(field), value, boundsOf(field, engine));
}

/** A password that `passwordFrom` provides is stored as an empty text. */
export function newPassword(
  check: Checker,
  value: string | undefined,
  { engine, isProvided }: { engine: EngineName; isProvided: boolean },
): string {
  if (isProvided) return refuseStored(check, value);
  if (value === undefined) check.fault(settingPath('password'), 'is missing');
  return newSecret(check, 'password', { value: value ?? '', engine });
}

function refuseStored(check: Checker, value: string | undefined): '' {
  if (value) check.fault(settingPath('password'), 'must be absent, because passwordFrom provides it');
  return '';
}

interface PasswordChange {
  value: string | undefined;
  current: Secret;
  engine: EngineName;
  isProvided: boolean;
  /** True if the stored password is encrypted for other settings. */
  isMoved: boolean;
}

export function changedPassword(
  check: Checker,
  { isProvided, isMoved, ...change }: PasswordChange,
): string | undefined {
  if (!isProvided) return changedSecret(check, 'password', change);
  const value = change.value === change.current.mask ? undefined : change.value;
  return isMoved || value !== undefined ? refuseStored(check, value) : undefined;
}

function boundsOf(field: SecretField, engine: EngineName): { min: number; max: number } {
  if (field === 'user') return userLengthOf[engine];
  return field.endsWith('assword') ? sourceLimits.passwordLength : sourceLimits.pemLength;
}

/** Returns undefined if the secret stays unchanged. */
export function changedSecret(
  check: Checker,
  field: SecretField,
  { value, current, engine }: { value: string | undefined; current: Secret | undefined; engine: EngineName },
): string | undefined {
  if (value === undefined) return undefined;
  // A lost value has an empty mask, and may be an empty value.
  if (value === current?.mask && current.sealed !== '') return undefined;
  if (field !== 'user' && field !== 'password' && value === '') return '';
  if (looksLikeMask(value)) {
    check.fault(
      settingPath(field),
      'is a mask, but not the mask of the current value; send the value or omit the property',
    );
    return undefined;
  }
  return check.text(settingPath(field), value, boundsOf(field, engine));
}
