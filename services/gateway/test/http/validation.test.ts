import { describe, expect, it } from 'vitest';
import { expectLinear } from '../../../../tests/support/growth.ts';
import { object } from '../../src/http/json-schema.ts';
import { createBodyValidators } from '../../src/http/validation.ts';

const entry = object({ key: { type: 'string' }, value: {} }, ['key']);
const schema = object(
  {
    label: { type: 'string', minLength: 1 },
    meta: object({ label: { type: 'string' } }),
    context: { type: ['array', 'null'], items: entry },
    mode: { type: ['string', 'null'], enum: ['a', null] },
  },
  ['label'],
);
const validate = (createBodyValidators() as (route: { schema: object }) => (body: unknown) => unknown)({
  schema,
});

function refusalOf(body: unknown) {
  const result = validate(body);
  if (result === true) return undefined;
  const { error } = result as { error: { message: string; faults: { pointer: string; detail: string }[] } };
  return error;
}
const many = 100_000;
const members = (count: number, more: object = {}) => ({
  ...Object.fromEntries(Array.from({ length: count }, (_, i) => [`unknown${i}`, 0])),
  ...more,
});

describe('the faults of a body', () => {
  it('are none if it fits', () => {
    expect(refusalOf({ label: 'x', meta: {}, context: null })).toBeUndefined();
    const context = Array.from({ length: many }, () => ({ key: 'k' }));
    expect(refusalOf({ label: 'x', context })).toBeUndefined();
  });

  it('name the values that are allowed, null too', () => {
    expect(refusalOf({ label: 'x', mode: 'b' })?.message).toBe('/mode must be one of a, null.');
  });

  it('are all named if it is of usual size', () => {
    const { message, faults } = refusalOf({ meta: { label: 1, x: 1 }, context: [{ value: 1 }, 2] }) ?? {};
    expect(faults).toEqual([
      { pointer: '/label', detail: 'is missing' },
      { pointer: '/meta/x', detail: 'is an unknown property' },
      { pointer: '/meta/label', detail: 'must be a string' },
      { pointer: '/context/0/key', detail: 'is missing' },
      { pointer: '/context/1', detail: 'must be an object' },
    ]);
    expect(message).toBe('/label is missing; "errors" lists 4 more faults.');
  });

  it.each<[string, (count: number) => object]>([
    ['unknown members', (count) => members(count, { label: 'x' })],
    ['unknown members in a member', (count) => ({ label: 'x', meta: members(count) })],
    ['elements that do not fit', (count) => ({ label: 'x', context: new Array(count).fill(1) })],
    [
      'elements with too little and too much',
      (count) => ({ label: 'x', context: new Array(count).fill({ x: 1 }) }),
    ],
  ])('are looked for in a part of it where it has very many: %s', async (_name, bodyOf) => {
    await expectLinear((count) => refusalOf(bodyOf(count)), many);
    const { message, faults } = refusalOf(bodyOf(many)) ?? {};
    expect(faults).toHaveLength(50);
    expect(message).toMatch(
      /; "errors" lists 49 more faults\. The body is large, and only a part of it was validated\.$/,
    );
    expect(faults?.filter(({ detail }) => detail === 'is missing' && !/key$/.test(detail))).toEqual(
      faults?.filter(({ pointer }) => pointer.endsWith('/key')),
    );
  });

  it('are reported if there is only one, behind the part that is validated first', () => {
    const context = [...new Array(many).fill({ key: 'k' }), { key: 1 }];
    const { faults } = refusalOf({ label: 'x', context }) ?? {};
    expect(faults).toEqual([{ pointer: `/context/${many}/key`, detail: 'must be a string' }]);
  });

  it('do not include what is there behind many others, nor a member named __proto__ that is not', () => {
    const late = refusalOf(members(many, { label: 1 }));
    expect(late?.faults).not.toContainEqual({ pointer: '/label', detail: 'is missing' });
    const { faults } = refusalOf(JSON.parse('{"__proto__": {"label": "x"}}')) ?? {};
    expect(faults).toEqual([
      { pointer: '/label', detail: 'is missing' },
      { pointer: '/__proto__', detail: 'is an unknown property' },
    ]);
  });
});
