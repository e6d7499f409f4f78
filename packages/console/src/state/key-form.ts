/** The form of a key, and the bodies of the requests that create and change it. By default a new key may do little. */

import type { Scope } from '@datahub/contract/scopes';
import type { Claim } from '@datahub/contract/user-limit';
import { isJson, parseExact, toText } from '../api/exact.ts';
import type { Key, KeyLimits } from '../api/types.ts';
import { isNumberText } from './rows/scan.ts';

const scopeTitles = ['Run', 'See', 'Change'] as const;

const scopeWords: Record<Scope, [title: (typeof scopeTitles)[number], words: string]> = {
  'queries:execute': ['Run', 'Run queries that read'],
  'queries:execute:write': ['Run', 'Run queries that write'],
  'classifiers:predict': ['Run', 'Predict with classifiers'],
  'ai:summarize': ['Run', 'Summarise texts'],
  'watches:read': ['See', 'See watches, runs and events'],
  'watches:write': ['Change', 'Change and run watches'],
  'destinations:write': ['Change', 'Change where events are sent'],
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
  'keys:read': ['See', 'See keys and who calls a query'],
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
  /** Queries by name. The form shows and removes them; programs and files add them. */
  queries: string[];
  classifierIds: string[];
  origins: string[];
  pinned: [string, string][];
  user: UserForm | undefined;
  ratePerMinute: string;
  maxRows: string;
  days: string;
}

/** What a part of the form shows and changes. */
export interface PartProps {
  form: KeyForm;
  set(change: Partial<KeyForm>): void;
}

/** `limits.user`. */
export interface UserForm {
  issuer: string;
  audience: string;
  jwks: string;
  claims: [variable: string, path: string][];
  ratePerMinute: string;
  /** Not in the form: queries that need not use the claims. A change of the key keeps them. */
  public: string[];
}

export const emptyUser: UserForm = {
  issuer: '',
  audience: '',
  jwks: '',
  claims: [['', 'sub']],
  ratePerMinute: '60',
  public: [],
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
  queries: [],
  classifierIds: [],
  origins: [],
  pinned: [],
  user: undefined,
  ratePerMinute: '60',
  maxRows: '1000',
  days: '90',
});

/** Returns the form of a key that exists. No days: it ends when it does now. */
export function formOf({ name, scopes, limits }: Key): KeyForm {
  const { hubIds = [], queryIds = [], queries = [], classifierIds = [], origins = [], context = {} } = limits;
  const { ratePerMinute, maxRows } = limits;
  return {
    name,
    scopes,
    everything: scopes.includes('*'),
    hubIds,
    queryIds,
    queries,
    classifierIds,
    origins,
    pinned: Object.entries(context).map(([variable, value]) => [variable, toPinnedText(value)]),
    user: toUserForm(limits.user),
    ratePerMinute: String(ratePerMinute ?? ''),
    maxRows: String(maxRows ?? ''),
    days: '',
  };
}

const toUserForm = (user: KeyLimits['user']): UserForm | undefined =>
  user && {
    issuer: user.issuer,
    audience: user.audience,
    jwks: user.jwks === undefined ? '' : toText(user.jwks),
    claims: Object.entries(user.claims),
    ratePerMinute: String(user.ratePerMinute ?? ''),
    public: user.public ?? [],
  };

function whole(text: string, max = Number.MAX_SAFE_INTEGER): number | undefined {
  const number = /^\d+$/.test(text.trim()) ? Number(text) : Number.NaN;
  return number <= max ? number : undefined;
}

/** Later dates have more than four digits of the year. */
export const daysMax = 999_999;

/** True if a number of the form cannot be read. Without this check, the key would silently lose that limit. */
export function hasWrongNumber({ ratePerMinute, maxRows, days, user }: KeyForm): boolean {
  const isWrong = (text: string, max?: number) => text.trim() !== '' && whole(text, max) === undefined;
  return (
    isWrong(days, daysMax) || [ratePerMinute, maxRows, user?.ratePerMinute ?? ''].some((one) => isWrong(one))
  );
}

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

/** The text that `pinnedValue` reads as this value. */
function toPinnedText(value: unknown): string {
  const text = toText(value);
  return typeof value === 'string' && pinnedValue(text) !== value ? JSON.stringify(value) : text;
}

const day = 86_400_000;

/** Returns the expiry of the new key. A key that expires can only create keys that expire no later. */
function endOf(days: number | undefined, now: number, endsBy: string | undefined): string | undefined {
  const wanted = days === undefined ? undefined : new Date(now + days * day).toISOString();
  return endsBy !== undefined && (wanted === undefined || wanted > endsBy) ? endsBy : wanted;
}

function limitOf(user: UserForm): object {
  const { issuer, audience } = user;
  const jwks = user.jwks.trim();
  const ratePerMinute = whole(user.ratePerMinute);
  return {
    issuer: issuer.trim(),
    audience: audience.trim(),
    ...(jwks === '' ? {} : { jwks: jwks.startsWith('{') && isJson(jwks) ? parseExact(jwks) : jwks }),
    ...(user.public.length === 0 ? {} : { public: user.public }),
    claims: Object.fromEntries(claimsOf(user).map(({ variable, path }) => [variable, path])),
    ...(ratePerMinute === undefined ? {} : { ratePerMinute }),
  };
}

/** The limits of the form. Those that it leaves empty are absent. */
function limitsOf(form: KeyForm): Record<string, unknown> {
  const { hubIds, queryIds, queries, classifierIds, origins, pinned, user } = form;
  const context = Object.fromEntries(
    pinned
      .filter(([variable]) => variable.trim() !== '')
      .map(([variable, value]) => [variable.trim(), pinnedValue(value)]),
  );
  const [ratePerMinute, maxRows] = [whole(form.ratePerMinute), whole(form.maxRows)];
  return {
    ...(hubIds.length === 0 ? {} : { hubIds }),
    ...(queryIds.length === 0 ? {} : { queryIds }),
    ...(queries.length === 0 ? {} : { queries }),
    ...(classifierIds.length === 0 ? {} : { classifierIds }),
    ...(origins.length === 0 ? {} : { origins }),
    ...(Object.keys(context).length === 0 ? {} : { context }),
    ...(user === undefined ? {} : { user: limitOf(user) }),
    ...(ratePerMinute === undefined ? {} : { ratePerMinute }),
    ...(maxRows === undefined ? {} : { maxRows }),
  };
}

/**
 * Returns the bodies of a form that is being sent. While the form stays the same, so does its expiry: who sends it again
 * after a lost answer creates no second key.
 */
export function createKeyBodies(): (form: KeyForm, endsBy: string | undefined) => object {
  let sent = { text: '', at: 0 };
  return (form, endsBy) => {
    const text = JSON.stringify(form);
    if (sent.text !== text) sent = { text, at: Date.now() };
    return bodyOf(form, sent.at, endsBy);
  };
}

export function bodyOf(form: KeyForm, now: number, endsBy: string | undefined): object {
  const { name, everything, scopes } = form;
  const expiresAt = endOf(whole(form.days, daysMax), now, endsBy);
  return {
    name: name.trim(),
    scopes: everything ? ['*'] : scopes,
    limits: limitsOf(form),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  };
}

/** The body of the request that changes a key: what the form changed, with null for the limits that it removed. */
export function changeOf(key: Key, form: KeyForm, now: number): object {
  const before = limitsOf(formOf(key));
  const after = limitsOf(form);
  const changed = Object.keys({ ...before, ...after }).filter(
    (limit) => toText(before[limit]) !== toText(after[limit]),
  );
  const limits = Object.fromEntries(changed.map((limit) => [limit, after[limit] ?? null]));
  const name = form.name.trim();
  const days = whole(form.days, daysMax);
  return {
    ...(name === key.name ? {} : { name }),
    ...(changed.length === 0 ? {} : { limits }),
    ...(days === undefined ? {} : { expiresAt: endOf(days, now, undefined) }),
  };
}
