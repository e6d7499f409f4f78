import { faultsOfSession, joinSessions, toSessionJson } from '@datahub/contract/session-settings';
import { describe, expect, it } from 'vitest';
import { compileSession } from '../src/session.ts';

const session = {
  searchPath: 'shop, public',
  role: { claim: 'app.role', among: ['reader', 'writer'] },
  settings: {
    'app.kind': { value: 'page' },
    'app.user_id': { claim: 'sub' },
    'request.jwt.claims': { claims: true as const },
    'app.tenant': { variable: 'tenant' },
  },
};
const claims = { sub: 'u1', app: { role: 'writer' }, big: 1 };
const bind = (given: object, settings: object = session) =>
  compileSession(settings, [{ key: 'tenant', type: 'bigint', required: true }])?.bind({
    pinnedJson: '',
    contextJson: '{"tenant": 9007199254740993}',
    claimsJson: JSON.stringify(claims),
    ...given,
  });

describe('a session', () => {
  it('is set from constants, claims and variables, with the role last', () => {
    expect(bind({})).toEqual([
      ['search_path', 'shop, public'],
      ['app.kind', 'page'],
      ['app.user_id', 'u1'],
      ['request.jwt.claims', JSON.stringify(claims)],
      ['app.tenant', '9007199254740993'],
      ['role', 'writer'],
    ]);
    expect(compileSession(session, [])?.constants).toEqual([
      ['search_path', 'shop, public'],
      ['app.kind', 'page'],
      ['role', 'reader'],
    ]);
  });

  it('takes a pinned value before that of the caller', () => {
    expect(bind({ pinnedJson: '{"tenant": 7}' })).toContainEqual(['app.tenant', '7']);
  });

  it.each([
    ['no user', { claimsJson: undefined }],
    ['no claim', { claimsJson: '{"app": {"role": "writer"}}' }],
    ['null', { claimsJson: '{"sub": null, "app": {"role": "writer"}}' }],
    ['a NUL', { claimsJson: '{"sub": "\\u0000", "app": {"role": "writer"}}' }],
    ['another role', { claimsJson: '{"sub": "u1", "app": {"role": "postgres"}}' }],
  ])('fails with %s', (_, given) => {
    expect(() => bind(given)).toThrow(expect.objectContaining({ code: 'CLAIM_MISSING' }));
  });

  it('needs its variables', () => {
    expect(() => bind({ contextJson: '' })).toThrow(expect.objectContaining({ code: 'CONTEXT_INVALID' }));
  });

  it('is nothing without members', () => {
    expect([compileSession({}, []), toSessionJson({ settings: {} })]).toEqual([undefined, undefined]);
  });

  it('of a query does not replace that of its source', () => {
    const own = { role: 'x', settings: { 'app.kind': { value: 'y' }, 'app.more': { value: 'z' } } };
    expect(joinSessions(session, own).replaced).toEqual([['role'], ['settings', 'app.kind']]);
  });
});

describe('the faults of a session', () => {
  it.each([
    [null, ['']],
    [{ other: 1 }, ['other']],
    [{ searchPath: '\0' }, ['searchPath']],
    [{ role: 'x'.repeat(64) }, ['role']],
    [{ role: { claim: 'a', among: [] } }, ['role/among']],
    [{ settings: { work_mem: { value: '1' } } }, ['settings/work_mem']],
    [{ settings: { 'auto_explain.log_analyze': { value: 'on' } } }, ['settings/auto_explain.log_analyze']],
    [{ settings: { 'app.a': { value: 'x', claim: 'y' } } }, ['settings/app.a']],
    [{ settings: { 'app.a': { claims: false } } }, ['settings/app.a']],
    [{ settings: { 'app.a': { variable: '1' } } }, ['settings/app.a']],
    [{ settings: { 'app.a': { value: 1 } } }, ['settings/app.a']],
  ])('of %j', (given, paths) => {
    expect(faultsOfSession(given).map(({ path }) => path.join('/'))).toEqual(paths);
  });
});
