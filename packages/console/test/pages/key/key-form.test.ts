import { expect, it } from 'vitest';
import { bodyOf, emptyKey } from '../../../src/pages/key/key-form.ts';

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
