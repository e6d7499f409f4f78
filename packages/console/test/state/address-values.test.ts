import { expect, it } from 'vitest';
import { fromAddress, toAddress, toLink } from '../../src/state/address-values.ts';
import type { Values } from '../../src/state/variables.ts';

const fields = [
  { key: 'region', list: false, enum: ['north & south', 'east'] },
  { key: 'ids', list: true },
  { key: 'note', list: false },
  { key: 'from', list: false },
  { key: 'token', list: false, secret: true },
];
const values: Values = {
  region: { kind: 'text', text: '"north & south"' },
  ids: { kind: 'list', items: ['1', '12345678901234567890'] },
  note: { kind: 'null' },
  from: { kind: 'text', text: '' },
  token: { kind: 'text', text: 'not for others' },
};

it('carries values to the address and back, but no secret', () => {
  const address = toAddress(fields, values);
  expect(address).toBe('region=north%20%26%20south&ids=1&ids=12345678901234567890&note&from=');
  const { token: _, ...others } = values;
  expect(fromAddress(address, fields)).toEqual(others);
});

it('carries an empty list, which is not null', () => {
  const empty: Values = { ids: { kind: 'list', items: [] }, note: { kind: 'null' } };
  const { query, leftOut } = toLink(fields, empty);
  expect(leftOut).toEqual([]);
  expect(fromAddress(query, fields)).toEqual(empty);
});

it('takes no secret from an address, and ignores what is no variable', () => {
  expect(fromAddress('token=x&other=1&note=%', fields)).toEqual({ note: { kind: 'text', text: '%' } });
  expect(fromAddress('ids=7', fields)).toEqual({ ids: { kind: 'list', items: ['7'] } });
  expect(fromAddress('', fields)).toEqual({});
});

it('leaves values out of a link that are too long for an address', () => {
  const items = Array.from({ length: 20_000 }, (_, i) => String(i));
  const values = { ids: { kind: 'list' as const, items }, region: { kind: 'text' as const, text: 'north' } };
  const fields = [
    { key: 'ids', list: true },
    { key: 'region', list: false },
  ];
  expect(toLink(fields, values)).toEqual({ query: 'region=north', leftOut: ['ids'] });
});
