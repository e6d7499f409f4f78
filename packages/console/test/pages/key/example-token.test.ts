import { expect, it } from 'vitest';
import { decodeToken } from '../../../src/pages/key/example-token.ts';
import { emptyUser } from '../../../src/state/key-form.ts';

const user = { ...emptyUser, issuer: 'i', audience: 'a', claims: [['n', 'app.n'] as [string, string]] };
const part = (text: string) => Buffer.from(text).toString('base64url');
const tokenOf = (payload: string) => `${part('{}')}.${part(payload)}.signature`;

it('shows what a token would pin, with all digits', () => {
  const token = tokenOf('{"iss": "i", "aud": "a", "sub": "ü", "exp": 9, "app": {"n": 90071992547409931.10}}');
  const decoded = decodeToken(` ${token}\n`, user, 8_000);
  expect(decoded).toMatchObject({ pinned: [['n', '90071992547409931.10']], faults: [] });
  expect(decoded?.claims).toContain('"sub": "ü"');
});

it('names each reason why the hub would refuse it', () => {
  expect(decodeToken(tokenOf('{"aud": ["b"], "exp": 9}'), user, 10_000)?.faults).toEqual([
    'Its issuer (iss) is null.',
    'Its audience (aud) is ["b"].',
    'It has no claim sub.',
    'It has expired, as an example may.',
    'It has no claim app.n.',
  ]);
});

it.each(['', 'a.b', 'a.b.c', `${part('{}')}.${part('7')}.x`])('%j is no token', (text) => {
  expect(decodeToken(text, user, 0)).toBeUndefined();
});
