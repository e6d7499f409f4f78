/** What a key may do, as a form and as the body that makes it. Everything begins at little. */

import { parseExact } from '../api/exact.ts';
import { isNumberText } from '../rows/scan.ts';

export const scopeGroups: { title: string; scopes: [string, string][] }[] = [
  {
    title: 'Run',
    scopes: [
      ['queries:execute', 'Run queries that read'],
      ['queries:execute:write', 'Run queries that write'],
      ['classifiers:predict', 'Predict with classifiers'],
      ['ai:summarize', 'Summarise texts'],
    ],
  },
  {
    title: 'See',
    scopes: [
      ['hubs:read', 'See hubs and their trees'],
      ['sources:read', 'See and test sources'],
      ['queries:read', 'See the text of queries'],
      ['classifiers:read', 'See classifiers'],
    ],
  },
  {
    title: 'Change',
    scopes: [
      ['hubs:write', 'Change hubs and folders'],
      ['sources:write', 'Change sources'],
      ['queries:write', 'Change queries'],
      ['classifiers:write', 'Create and delete classifiers'],
      ['classifiers:train', 'Train classifiers'],
      ['keys:admin', 'Make keys, read the audit'],
    ],
  },
];

export interface KeyForm {
  name: string;
  scopes: string[];
  everything: boolean;
  hubIds: string[];
  queryIds: string[];
  origins: string[];
  pinned: [string, string][];
  ratePerMinute: string;
  maxRows: string;
  days: string;
}

export const emptyKey = (hubId: string): KeyForm => ({
  name: '',
  scopes: ['queries:execute'],
  everything: false,
  hubIds: hubId === '' ? [] : [hubId],
  queryIds: [],
  origins: [],
  pinned: [],
  ratePerMinute: '60',
  maxRows: '1000',
  days: '90',
});

const whole = (text: string): number | undefined => (/^\d+$/.test(text.trim()) ? Number(text) : undefined);

/** A pinned value is JSON where it reads as such, else a text. */
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

export function bodyOf(form: KeyForm, now: number): object {
  const { name, everything, scopes, hubIds, queryIds, origins, pinned } = form;
  const context = Object.fromEntries(
    pinned
      .filter(([variable]) => variable.trim() !== '')
      .map(([variable, value]) => [variable.trim(), pinnedValue(value)]),
  );
  const [ratePerMinute, maxRows, days] = [whole(form.ratePerMinute), whole(form.maxRows), whole(form.days)];
  return {
    name: name.trim(),
    scopes: everything ? ['*'] : scopes,
    limits: {
      ...(hubIds.length === 0 ? {} : { hubIds }),
      ...(queryIds.length === 0 ? {} : { queryIds }),
      ...(origins.length === 0 ? {} : { origins }),
      ...(Object.keys(context).length === 0 ? {} : { context }),
      ...(ratePerMinute === undefined ? {} : { ratePerMinute }),
      ...(maxRows === undefined ? {} : { maxRows }),
    },
    ...(days === undefined ? {} : { expiresAt: new Date(now + days * day).toISOString() }),
  };
}
