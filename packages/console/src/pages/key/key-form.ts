/** The form of a new key, and the body of the request that creates it. By default a key may do little. */

import type { Scope } from '@datahub/contract/scopes';
import type { Claim } from '@datahub/contract/user-limit';
import { parseExact } from '../../api/exact.ts';
import { isNumberText } from '../../state/rows/scan.ts';

const scopeTitles = ['Run', 'See', 'Change'] as const;

const scopeWords: Record<Scope, [title: (typeof scopeTitles)[number], words: string]> = {
  'queries:execute': ['Run', 'Run queries that read'],
  'queries:execute:write': ['Run', 'Run queries that write'],
  'classifiers:predict': ['Run', 'Predict with classifiers'],
  'ai:summarize': ['Run', 'Summarise texts'],
  'hubs:read': ['See', 'See hubs and their trees'],
  'sources:read': ['See', 'See and test sources'],
  'queries:read': ['See', 'See the text of queries'],
  'classifiers:read': ['See', 'See classifiers'],
  'hubs:write': ['Change', 'Change hubs and folders'],
  'sources:write': ['Change', 'Change sources'],
  'queries:check': ['See', 'Check queries that are not stored'],
  'queries:write': ['Change', 'Change queries'],
  'classifiers:write': ['Change', 'Create and delete classifiers'],
  'classifiers:train': ['Change', 'Train classifiers'],
  'keys:admin': ['Change', 'Manage keys, read the audit log'],
};

/** The scopes in the groups of the form, with their labels. */
export const scopeGroups = scopeTitles.map((title) => ({
  title,
  scopes: Object.entries(scopeWords).flatMap(([scope, [group, words]]) =>
    group === title ? [[scope, words] as const] : [],
  ),
}));

export interface KeyForm {
  name: string;
  scopes: string[];
  everything: boolean;
  hubIds: string[];
  queryIds: string[];
  origins: string[];
  pinned: [string, string][];
  user: UserForm | undefined;
  ratePerMinute: string;
  maxRows: string;
  days: string;
}

/** `limits.user`. */
export interface UserForm {
  issuer: string;
  audience: string;
  jwks: string;
  claims: [variable: string, path: string][];
  ratePerMinute: string;
}

export const emptyUser: UserForm = {
  issuer: '',
  audience: '',
  jwks: '',
  claims: [['', 'sub']],
  ratePerMinute: '60',
};

export const claimsOf = ({ claims }: UserForm): Claim[] =>
  claims
    .map(([variable, path]) => ({ variable: variable.trim(), path: path.trim() }))
    .filter(({ variable, path }) => variable !== '' && path !== '');

export const emptyKey = (hubId: string): KeyForm => ({
  name: '',
  scopes: ['queries:execute'],
  everything: false,
  hubIds: hubId === '' ? [] : [hubId],
  queryIds: [],
  origins: [],
  pinned: [],
  user: undefined,
  ratePerMinute: '60',
  maxRows: '1000',
  days: '90',
});

const whole = (text: string): number | undefined => (/^\d+$/.test(text.trim()) ? Number(text) : undefined);

/** Parses a pinned value as JSON if it looks like JSON, else takes it as text. */
function pinnedValue(text: string): unknown {
  const trimmed = text.trim();
  if (isNumberText(trimmed) || /^(true|false|null|["[{].*)$/s.test(trimmed)) {
    try {
      return parseExact(trimmed);
    } catch {
      return text;
    }
  }
  return text;
}

const day = 86_400_000;

/** Returns the expiry of the new key. A key that expires can only create keys that expire no later. */
function endOf(days: number | undefined, now: number, endsBy: string | undefined): string | undefined {
  const wanted = days === undefined ? undefined : new Date(now + days * day).toISOString();
  return endsBy !== undefined && (wanted === undefined || wanted > endsBy) ? endsBy : wanted;
}

function limitOf(user: UserForm): object {
  const { issuer, audience, jwks } = user;
  const ratePerMinute = whole(user.ratePerMinute);
  return {
    issuer: issuer.trim(),
    audience: audience.trim(),
    ...(jwks.trim() === '' ? {} : { jwks: jwks.trim() }),
    claims: Object.fromEntries(claimsOf(user).map(({ variable, path }) => [variable, path])),
    ...(ratePerMinute === undefined ? {} : { ratePerMinute }),
  };
}

export function bodyOf(form: KeyForm, now: number, endsBy: string | undefined): object {
  const { name, everything, scopes, hubIds, queryIds, origins, pinned, user } = form;
  const context = Object.fromEntries(
    pinned
      .filter(([variable]) => variable.trim() !== '')
      .map(([variable, value]) => [variable.trim(), pinnedValue(value)]),
  );
  const expiresAt = endOf(whole(form.days), now, endsBy);
  const [ratePerMinute, maxRows] = [whole(form.ratePerMinute), whole(form.maxRows)];
  return {
    name: name.trim(),
    scopes: everything ? ['*'] : scopes,
    limits: {
      ...(hubIds.length === 0 ? {} : { hubIds }),
      ...(queryIds.length === 0 ? {} : { queryIds }),
      ...(origins.length === 0 ? {} : { origins }),
      ...(Object.keys(context).length === 0 ? {} : { context }),
      ...(user === undefined ? {} : { user: limitOf(user) }),
      ...(ratePerMinute === undefined ? {} : { ratePerMinute }),
      ...(maxRows === undefined ? {} : { maxRows }),
    },
    ...(expiresAt === undefined ? {} : { expiresAt }),
  };
}
