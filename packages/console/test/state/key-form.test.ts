import { withheldValue } from '@datahub/contract/key-limits';
import { expect, it, vi } from 'vitest';
import type { Key } from '../../src/api/types.ts';
import {
  bodyOf,
  changeOf,
  createKeyBodies,
  emptyKey,
  formOf,
  hasWrongNumber,
} from '../../src/state/key-form.ts';

const now = Date.parse('2026-11-01T00:00:00Z');

it.each([
  ['10', undefined, '2026-11-11T00:00:00.000Z'],
  ['', undefined, undefined],
  // A key cannot outlive the key that creates it.
  ['10', '2026-11-01T12:00:00.000Z', '2026-11-01T12:00:00.000Z'],
  ['', '2026-11-01T12:00:00.000Z', '2026-11-01T12:00:00.000Z'],
  ['10', '2027-01-01T00:00:00.000Z', '2026-11-11T00:00:00.000Z'],
])('ends after %j days, by %s: %s', (days, endsBy, expiresAt) => {
  expect(bodyOf({ ...emptyKey(''), name: 'x', days }, now, endsBy)).toEqual({
    name: 'x',
    scopes: ['queries:execute'],
    limits: { ratePerMinute: 60, maxRows: 1000 },
    ...(expiresAt === undefined ? {} : { expiresAt }),
  });
});

const key = {
  name: 'shop',
  scopes: ['queries:execute'],
  limits: {
    hubIds: ['dh.hub.a'],
    queryIds: ['dh.q.a', 'dh.q.b'],
    context: { tenant: 42, code: '42', names: ['a', 'b'] },
    ratePerMinute: 60,
    user: { issuer: 'https://id.example', audience: 'shop', claims: { customer: 'sub' }, public: ['dh.q.b'] },
  },
} as unknown as Key;

it('changes nothing that the form leaves as it is', () => {
  expect(changeOf(key, formOf(key), now)).toEqual({});
});

it('sends what the form changes, and null for the limits that it removes', () => {
  const form = {
    ...formOf(key),
    name: ' store ',
    queryIds: ['dh.q.b'],
    hubIds: [],
    ratePerMinute: '',
    maxRows: '10',
  };
  expect(changeOf(key, { ...form, days: '1' }, now)).toEqual({
    name: 'store',
    limits: { hubIds: null, queryIds: ['dh.q.b'], ratePerMinute: null, maxRows: 10 },
    expiresAt: '2026-11-02T00:00:00.000Z',
  });
});

it('keeps the types of pinned values, and what the form does not show of the limit for users', () => {
  const { user, pinned, ...form } = formOf(key);
  expect(pinned).toEqual([
    ['tenant', '42'],
    ['code', '"42"'],
    ['names', '["a","b"]'],
  ]);
  const changed = { ...form, pinned, user: user && { ...user, audience: 'store' } };
  const { limits } = key as unknown as { limits: { user: object } };
  expect(changeOf(key, changed, now)).toEqual({ limits: { user: { ...limits.user, audience: 'store' } } });
});

it.each([
  ['1000', false],
  ['', false],
  ['1,000', true],
  ['ten', true],
])('a limit of %j is a number that cannot be read: %s', (maxRows, expected) => {
  expect(hasWrongNumber({ ...emptyKey(''), maxRows })).toBe(expected);
});

it('takes no number of days that ends beyond four digits of the year', () => {
  const form = { ...emptyKey(''), days: '100000000' };
  expect(hasWrongNumber(form)).toBe(true);
  expect(changeOf(key, { ...formOf(key), days: '100000000' }, now)).toEqual({});
  expect(hasWrongNumber({ ...form, days: '999999' })).toBe(false);
  expect(hasWrongNumber({ ...form, days: '', maxRows: '9'.repeat(400) })).toBe(true);
});

it('sends back the mark of a pinned value that is not shown', () => {
  const hidden = { ...key, limits: { context: { token: withheldValue, tenant: 1 } } } as unknown as Key;
  const { pinned, ...form } = formOf(hidden);
  const changed = pinned.map(([name, value]): [string, string] => [name, name === 'tenant' ? '2' : value]);
  expect(changeOf(hidden, { ...form, pinned: changed }, now)).toEqual({
    limits: { context: { token: withheldValue, tenant: 2 } },
  });
});

it('sends the same form with the same expiry, so that it is the same request', () => {
  vi.useFakeTimers({ now: Date.parse('2026-05-01T00:00:00Z') });
  try {
    const sent = createKeyBodies();
    const form = { ...emptyKey(''), name: 'x', days: '1' };
    const first = sent(form, undefined);
    vi.advanceTimersByTime(20_000);
    expect(sent({ ...form }, undefined)).toEqual(first);
    expect(sent({ ...form, name: 'y' }, undefined)).toMatchObject({ expiresAt: '2026-05-02T00:00:20.000Z' });
  } finally {
    vi.useRealTimers();
  }
});
