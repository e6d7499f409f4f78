import { grantableScopes } from '@datahub/contract/scopes';
import { hashApiKey, isPossibleKey } from '@datahub/service-kit/api-key';
import { describe, expect, it } from 'vitest';
import { makeKey, type NewKey } from '../src/key.ts';

const context = { accountId: 'a', nowMs: 1_000, createId: (kind: string) => `dh.${kind}.1` };
const make = (input: Partial<NewKey> = {}) =>
  makeKey({ name: 'n', scopes: [], limits: {}, expiresAt: null, ...input }, context);
const faultOf = (path: (string | number)[], detail: string) =>
  expect.objectContaining({ code: 'VALIDATION', errors: [{ path, detail }] });

describe('a key', () => {
  it('is kept as its hash and last characters alone', () => {
    const { doc, secret } = make({ scopes: ['hubs:read'], limits: { maxRows: 5 }, expiresAt: 2_000 });
    expect(secret).toMatch(/^dhk_/);
    expect(isPossibleKey(secret)).toBe(true);
    expect(doc).toEqual({
      id: 'dh.key.1',
      accountId: 'a',
      version: 1,
      hash: hashApiKey(secret),
      name: 'n',
      scopes: ['hubs:read'],
      limits: { maxRows: 5 },
      lastCharacters: secret.slice(-4),
      createdAt: 1_000,
      expiresAt: 2_000,
      lastUsedAt: null,
    });
    expect(JSON.stringify(doc)).not.toContain(secret.slice(0, -4));
    expect(make().secret).not.toBe(secret);
  });

  it('pins variables by names that they can have', () => {
    const contextJson = '{"tenant":7,"_a1":null}';
    expect(make({ limits: { contextJson } }).doc.limits).toEqual({ contextJson });
    for (const name of ['1a', 'tenant ', 'a-b', '', 'x'.repeat(65)]) {
      expect(() => make({ limits: { contextJson: JSON.stringify({ [name]: 1 }) } })).toThrow(
        faultOf(['limits', 'context'], 'holds a name that no variable can have'),
      );
    }
    for (const none of ['[]', 'null', '1', '{']) {
      expect(() => make({ limits: { contextJson: none } })).toThrow(
        faultOf(['limits', 'context'], 'must be a JSON object'),
      );
    }
  });

  it('may be one that the operator brings', () => {
    const secret = 'x'.repeat(40);
    expect(make({ secret })).toMatchObject({
      secret,
      doc: { hash: hashApiKey(secret), lastCharacters: 'xxxx' },
    });
  });

  it('may only execute where no scope is named, and has each once', () => {
    expect(make().doc.scopes).toEqual(['queries:execute']);
    expect(make({ scopes: ['hubs:read', 'hubs:read'] }).doc.scopes).toEqual(['hubs:read']);
    for (const scope of grantableScopes) expect(make({ scopes: [scope] }).doc.scopes).toEqual([scope]);
    expect([...grantableScopes].sort()).toEqual(
      [
        ...['*', 'ai:summarize', 'keys:admin', 'hubs:read', 'hubs:write', 'sources:read', 'sources:write'],
        ...[
          'queries:read',
          'queries:check',
          'queries:write',
          'queries:execute',
          'queries:execute:write',
          'classifiers:read',
        ],
        ...['classifiers:write', 'classifiers:train', 'classifiers:predict'],
      ].sort(),
    );
    const detail = `must be one of ${grantableScopes.join(', ')}`;
    expect(() => make({ scopes: ['hubs:read', 'all'] })).toThrow(faultOf(['scopes', 1], detail));
  });

  it('has a name, and ends in the future or never', () => {
    expect(() => make({ name: ' ' })).toThrow(faultOf(['name'], 'must have 1 to 200 characters'));
    for (const expiresAt of [999, 1_000]) {
      expect(() => make({ expiresAt })).toThrow(faultOf(['expiresAt'], 'must lie in the future'));
    }
    expect(make({ expiresAt: 1_001 }).doc.expiresAt).toBe(1_001);
  });

  it.each(['hubIds', 'queryIds', 'origins'] as const)('has at most 200 %s', (list) => {
    const entries = (count: number) => ({ limits: { [list]: Array.from({ length: count }, String) } });
    expect(make(entries(200)).doc.limits[list]).toHaveLength(200);
    expect(() => make(entries(201))).toThrow(faultOf(['limits', list], 'must have at most 200 entries'));
  });

  it('pins no more, and names no longer origins, than can go along with every call', () => {
    const pins = (count: number) => ({ limits: { contextJson: `{"a":"${'x'.repeat(count - 8)}"}` } });
    expect(make(pins(16_384)).doc.limits.contextJson).toHaveLength(16_384);
    expect(() => make(pins(16_385))).toThrow(
      faultOf(['limits', 'context'], 'must have at most 16384 characters of JSON'),
    );
    const comesFrom = (count: number) => ({ limits: { origins: ['https://a', 'x'.repeat(count)] } });
    expect(make(comesFrom(300)).doc.limits.origins).toHaveLength(2);
    expect(() => make(comesFrom(301))).toThrow(
      faultOf(['limits', 'origins'], 'must be of at most 300 characters each'),
    );
  });
});
