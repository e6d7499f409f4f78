import { expect, it } from 'vitest';
import { createRequestId } from '../../src/call/call.ts';

it('makes ids of 32 hexadecimal digits, none twice', () => {
  const ids = Array.from({ length: 10_000 }, createRequestId);
  expect(ids.filter((id) => !/^[0-9a-f]{32}$/.test(id))).toEqual([]);
  expect(new Set(ids).size).toBe(ids.length);
});
