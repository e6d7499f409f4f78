import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type HeldRole, mergeRoles, narrowToRoles, roles, scopesOfRole, withScope } from '../src/roles.ts';
import { isGranted, type Scope, scopes } from '../src/scopes.ts';

const hubs = ['a', 'b', 'c'];
const held = fc.record({
  role: fc.constantFrom(...roles),
  hubIds: fc.option(fc.uniqueArray(fc.constantFrom(...hubs), { minLength: 1 }), { nil: undefined }),
}) as fc.Arbitrary<HeldRole>;
const own = fc.record({
  scopes: fc.oneof(
    fc.constant<string[]>(['*']),
    fc.uniqueArray(fc.constantFrom<string>(...scopes), { minLength: 1 }),
  ),
  limits: fc.record(
    { hubIds: fc.uniqueArray(fc.constantFrom(...hubs), { minLength: 1 }) },
    { requiredKeys: [] },
  ),
});
const reaches = (hubIds: readonly string[] | undefined, hub: string) => hubIds?.includes(hub) ?? true;

describe('the roles of a person', () => {
  it('allow with one look at the scope what one of the grants allows, and nothing else', () => {
    fc.assert(
      fc.property(
        fc.array(held, { maxLength: 6 }),
        own,
        fc.constantFrom(...scopes),
        fc.constantFrom(...hubs),
        (grants, key, scope, hub) => {
          const [first, ...others] = narrowToRoles(key, mergeRoles(grants));
          const principal = first && { ...first, person: { grants: [first, ...others] } };
          const chosen = principal && withScope(principal, scope);
          const isAllowed = chosen !== undefined && reaches(chosen.limits.hubIds, hub);
          const isMeant =
            isGranted(key.scopes, scope) &&
            reaches(key.limits.hubIds, hub) &&
            grants.some(({ role, hubIds }) => isGranted(scopesOfRole[role], scope) && reaches(hubIds, hub));
          expect([isAllowed, chosen?.limits.hubIds?.length]).not.toEqual([isAllowed, 0]);
          expect(isAllowed).toBe(isMeant);
        },
      ),
      { numRuns: 20_000 },
    );
  });

  it('say how many hubs beyond the most do not count, and keep those of stronger roles', () => {
    const many = (start: number, count: number) => Array.from({ length: count }, (_, i) => `${start + i}`);
    const merged = mergeRoles([
      { role: 'viewer', hubIds: many(1_000, 250) },
      { role: 'editor', hubIds: many(9_000, 150) },
    ]);
    expect(merged.map(({ role, hubIds, hubsLeftOut }) => [role, hubIds?.length, hubsLeftOut])).toEqual([
      ['viewer', 200, 200],
      ['editor', 150, undefined],
    ]);
    const [viewer, editor] = merged;
    expect(editor?.hubIds?.every((id) => viewer?.hubIds?.includes(id))).toBe(true);
  });

  it('keep the other limits of a key', () => {
    const key = { scopes: ['queries:execute'], limits: { maxRows: 5, queryIds: ['q'] } };
    expect(narrowToRoles(key, [{ role: 'viewer', hubIds: ['a'] }])).toEqual([
      { scopes: ['queries:execute'], limits: { maxRows: 5, queryIds: ['q'], hubIds: ['a'] } },
    ]);
  });

  it('leave a key without a person as it is', () => {
    const principal = { scopes: ['hubs:read'], limits: undefined };
    expect(withScope(principal, 'hubs:read')).toBe(principal);
    expect(withScope(principal, 'hubs:write')).toBeUndefined();
  });

  it('each have the scopes of the one before', () => {
    for (const [at, role] of roles.entries())
      for (const scope of scopesOfRole[roles[at - 1] ?? role])
        expect(isGranted(scopesOfRole[role], scope as Scope)).toBe(true);
  });
});
