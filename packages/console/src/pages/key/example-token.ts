/** Decodes an example of a token, without verifying it, and says what it would pin. Nothing of it leaves the page. */

import { pinnedClaims } from '@datahub/contract/user-limit';
import { parseExact } from '../../api/exact.ts';
import { claimsOf, type UserForm } from '../../state/key-form.ts';

export interface DecodedToken {
  /** The claims as indented JSON. */
  claims: string;
  /** Variables and the JSON of their values. */
  pinned: [variable: string, json: string][];
  /** Why the hub would refuse the token. */
  faults: string[];
}

/** Undefined if the text is no JSON Web Token. */
export function decodeToken(text: string, user: UserForm, nowMs: number): DecodedToken | undefined {
  const [, part = '', signature] = text.trim().split('.');
  const payload = signature === undefined ? undefined : readPayload(part);
  if (payload === undefined) return undefined;
  const { values, missing } = pinnedClaims(payload, claimsOf(user));
  return {
    claims: JSON.stringify(payload, undefined, 2),
    pinned: values.map(([variable, value]) => [variable, JSON.stringify(value)]),
    faults: [...faultsOf(payload, user, nowMs), ...missing.map((path) => `It has no claim ${path}.`)],
  };
}

function readPayload(part: string): Record<string, unknown> | undefined {
  try {
    const bytes = Uint8Array.from(atob(part.replaceAll('-', '+').replaceAll('_', '/')), (one) =>
      one.charCodeAt(0),
    );
    const value = parseExact(new TextDecoder().decode(bytes));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function faultsOf(payload: Record<string, unknown>, user: UserForm, nowMs: number): string[] {
  const { iss, aud, exp, sub } = payload;
  const faults: string[] = [];
  if (iss !== user.issuer.trim()) faults.push(`Its issuer (iss) is ${JSON.stringify(iss ?? null)}.`);
  const audiences = Array.isArray(aud) ? aud : [aud];
  if (!audiences.includes(user.audience.trim()))
    faults.push(`Its audience (aud) is ${JSON.stringify(aud ?? null)}.`);
  if (typeof sub !== 'string' || sub === '') faults.push('It has no claim sub.');
  if (typeof exp !== 'number') faults.push('It has no claim exp.');
  else if (exp * 1_000 < nowMs) faults.push('It has expired, as an example may.');
  return faults;
}
