import { HubError } from '@datahub/service-kit/call/error';
import { errors } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { createTestIssuer, type TestIssuer } from '../../../../tests/support/user-tokens.ts';
import { createUserTokens } from '../../src/access/user-tokens.ts';

const minute = 60_000;
let [before, after]: TestIssuer[] = [];
beforeAll(async () => {
  [before, after] = [await createTestIssuer(), await createTestIssuer()];
});

/** An issuer whose keys are fetched, and a clock. */
function setup() {
  const state = { jwks: before?.jwks as object, fetched: 0, isAway: false, now: 0 };
  const startedAt = Date.now();
  const tokens = createUserTokens({
    executor: {
      fetchIssuerKeys: async () => {
        state.fetched++;
        if (state.isAway) throw new HubError('UNAVAILABLE', 'The issuer is away.');
        return { jwksJson: JSON.stringify(state.jwks) };
      },
    },
    now: () => state.now,
    nowMs: () => startedAt + state.now,
  });
  const { issuer, audience } = before as TestIssuer;
  const user = { issuer, audience, claims: [{ variable: 'customer', path: 'sub' }], public: [] };
  const limits = {
    hubIds: [],
    queryIds: ['q'],
    classifierIds: [],
    queries: [],
    origins: [],
    contextJson: '{"tenant":1.10}',
    user,
  };
  const principal = { accountId: 'a', keyId: 'k', scopes: ['queries:execute'], limits };
  const verify = async (token: string) => tokens.verify(principal, `Bearer ${token}`);
  const codeOf = async (token: string) =>
    verify(token).then(
      () => 'accepted',
      (err: HubError) => err.code,
    );
  return { state, tokens, principal, verify, codeOf };
}
const sign = (issuer: TestIssuer | undefined, sub: string, options = {}) =>
  (issuer as TestIssuer).sign({ sub }, { expiresIn: 86_400, ...options });

describe('the principal of a user', () => {
  it('pins the claims beside the variables of the key, and is the same object while it is cached', async () => {
    const { state, tokens, principal } = setup();
    const header = `bearer ${await sign(before, 'c1')}`;
    const first = await tokens.verify(principal, header);
    expect(first.limits?.contextJson).toBe('{"tenant":1.10,"customer":"c1"}');
    expect(first.user).toMatchObject({ issuer: before?.issuer, subject: 'c1' });
    expect(JSON.parse(first.user?.claimsJson as string)).toMatchObject({ iss: before?.issuer, sub: 'c1' });
    expect(tokens.verify({ ...principal }, header)).toBe(first);
    state.now = 5 * minute;
    expect(await tokens.verify(principal, header)).not.toBe(first);
    const changed = { ...principal, scopes: ['queries:execute', 'ai:summarize'] };
    expect((await tokens.verify(changed, header)).scopes).toEqual(changed.scopes);
  });

  it('is dropped for others once they take too much memory', async () => {
    const { principal, tokens } = setup();
    const large = { ...principal, limits: { ...principal.limits, queries: ['q'.repeat(10_000_000)] } };
    const headers = await Promise.all(
      ['c1', 'c2', 'c3', 'c4'].map(async (sub) => `Bearer ${await sign(before, sub)}`),
    );
    for (const header of headers) await tokens.verify(large, header);
    expect(tokens.verify(large, headers[3])).not.toBeInstanceOf(Promise);
    const dropped = tokens.verify(large, headers[0]);
    expect(dropped).toBeInstanceOf(Promise);
    expect((await dropped).user?.subject).toBe('c1');
  });

  it('is not cached beyond the expiry of its token', async () => {
    const { state, codeOf } = setup();
    const token = await sign(before, 'c1', { expiresIn: 100 });
    expect(await codeOf(token)).toBe('accepted');
    state.now = 155_000;
    expect(await codeOf(token)).toBe('accepted');
    state.now = 165_000;
    expect(await codeOf(token)).toBe('TOKEN_INVALID');
  });
});

describe('a token whose subject is not a text', () => {
  it.each<[unknown]>([[0], [7], [true], [''], [['c1']], [[]], [{}], [null]])(
    'is refused: %j',
    async (sub) => {
      const { verify } = setup();
      const err = await verify(await (before as TestIssuer).sign({ sub } as never)).catch(
        (err: unknown) => err,
      );
      expect(err).toMatchObject({ code: 'TOKEN_INVALID', message: expect.stringContaining('claim sub') });
    },
  );
});

describe('a token that the hub could read as another one', () => {
  const valid = '"exp":4102444800';
  const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
  it.each<[what: string, members: string | Buffer, reason: string]>([
    ['half a surrogate pair in sub', `${valid},"sub":"\\ud800"`, 'Unicode'],
    ['half a surrogate pair in another claim', `${valid},"sub":"c","team":["\\udc00"]`, 'Unicode'],
    ['bytes that are not UTF-8', Buffer.from(`${valid},"sub":"\xff"`, 'latin1'), 'that the hub can read'],
    ['a claim twice', `${valid},"sub":"c","sub":"d"`, 'duplicate'],
    ['claims in many levels', `${valid},"sub":"c","x":${deep(2_400)}`, '64 levels'],
    ['an expiry that no double holds', '"exp":1e400,"sub":"c"', 'exp'],
    ['an expiry after the year 9999', '"exp":253402300800,"sub":"c"', 'exp'],
  ])('is refused: %s', async (_, members, reason) => {
    const { verify } = setup();
    const err = await verify(await (before as TestIssuer).signText(members)).catch((err: unknown) => err);
    expect(err).toMatchObject({ code: 'TOKEN_INVALID', message: expect.stringContaining(reason) });
  });

  it('is accepted without these', async () => {
    const { codeOf } = setup();
    expect(
      await codeOf(await (before as TestIssuer).signText(`${valid},"sub":"\\ud83d\\ude00","x":${deep(60)}`)),
    ).toBe('accepted');
  });
});

describe('the keys of an issuer', () => {
  it('are fetched once for concurrent calls, and again after ten minutes', async () => {
    const { state, codeOf } = setup();
    const tokens = await Promise.all(['c1', 'c2', 'c3'].map((sub) => sign(before, sub)));
    expect(await Promise.all(tokens.map(codeOf))).toEqual(Array(3).fill('accepted'));
    expect(state.fetched).toBe(1);
    state.now = 10 * minute;
    expect(await codeOf(await sign(before, 'c4'))).toBe('accepted');
    expect(state.fetched).toBe(2);
  });

  it('are dropped for those of others once they take too much memory', async () => {
    const { state, tokens, principal } = setup();
    state.jwks = { ...state.jwks, padding: 'x'.repeat(3_000_000) };
    const verify = async (name: string) => {
      const user = { ...principal.limits.user, jwksUrl: `https://issuer.example/${name}` };
      const ofUser = { ...principal, limits: { ...principal.limits, user } };
      await tokens.verify(ofUser, `Bearer ${await sign(before, name)}`);
      return state.fetched;
    };
    expect([await verify('a'), await verify('b'), await verify('c')]).toEqual([1, 2, 3]);
    expect([await verify('b'), await verify('a')]).toEqual([3, 4]);
  });

  it('are fetched at most once a minute for unknown ones, and drop those that rotated away', async () => {
    const { state, codeOf } = setup();
    expect(await codeOf(await sign(before, 'c1'))).toBe('accepted');
    const rename = (key: object) => ({ ...key, kid: 'new' });
    state.jwks = { keys: after?.jwks.keys.map(rename) };
    expect(await codeOf(await sign(after, 'c1', { kid: 'new' }))).toBe('accepted');
    expect(state.fetched).toBe(2);
    for (let i = 0; i < 3; i++) expect(await codeOf(await sign(before, `c${i + 2}`))).toBe('TOKEN_INVALID');
    expect(state.fetched).toBe(2);
    state.now = minute;
    expect(await codeOf(await sign(before, 'c5'))).toBe('TOKEN_INVALID');
    expect(state.fetched).toBe(3);
  });

  it('are used for an hour if the issuer is away, and are missing otherwise', async () => {
    const { state, codeOf } = setup();
    expect(await codeOf(await sign(before, 'c1'))).toBe('accepted');
    state.isAway = true;
    state.now = 59 * minute;
    expect(await codeOf(await sign(before, 'c2'))).toBe('accepted');
    expect(await codeOf(await sign(before, 'c3'))).toBe('accepted');
    expect(state.fetched).toBe(2);
    state.now = 60 * minute;
    expect(await codeOf(await sign(before, 'c4'))).toBe('UNAVAILABLE');
    state.isAway = false;
    state.now += 5_000;
    expect(await codeOf(await sign(before, 'c5'))).toBe('accepted');
  });

  it('is refused with a reason that hides the error of the library', async () => {
    const { verify } = setup();
    const err = await verify(await sign(after, 'c1')).catch((err: HubError) => err);
    expect(err).toMatchObject({ code: 'TOKEN_INVALID', message: 'The signature of the token is not valid.' });
    expect((err as HubError).cause).toBeInstanceOf(errors.JWSSignatureVerificationFailed);
  });
});
