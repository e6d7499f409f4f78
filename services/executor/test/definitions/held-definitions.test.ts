import { expect, it } from 'vitest';
import { HeldDefinitions } from '../../src/definitions/held-definitions.ts';
import { query } from '../fakes/pipeline.ts';

const large = () => ({ ...query, characters: 1_000_000 });

it('counts what the calls of an account use until they have ended, and each definition once', () => {
  const held = new HeldDefinitions();
  const shared = large();
  const uses = Array.from({ length: 1_000 }, () => held.hold(shared));
  const others = Array.from({ length: 32 }, () => held.hold(large()));
  expect(() => held.hold(large())).toThrow(
    'Too many large queries of this account wait for their databases.',
  );
  expect(held.hold({ ...large(), accountId: 'b' })).toBeDefined();
  for (const use of uses.slice(1)) use?.[Symbol.dispose]();
  expect(() => held.hold(large())).toThrow();
  uses[0]?.[Symbol.dispose]();
  expect(held.hold(large())).toBeDefined();
  for (const use of others) use?.[Symbol.dispose]();
  expect(held.hold(shared)).toBeDefined();
});

it('does not count small definitions', () => {
  expect(new HeldDefinitions().hold({ ...query, characters: 4_000 })).toBeUndefined();
});
