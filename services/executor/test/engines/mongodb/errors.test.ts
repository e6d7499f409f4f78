import { describe, expect, it } from 'vitest';
import { expectLinear } from '../../../../../tests/support/growth.ts';
import { toHubError } from '../../../src/engines/mongodb/errors.ts';

const said = (message: string) =>
  toHubError({ code: 2, message }).message.replace('The database rejected the command: ', '');

describe('a message of MongoDB', () => {
  it.each([
    ['bad value { a: "x\nSECRET" }', 'bad value ….'],
    ["Failed to parse number 'a'SECRET'b' in $convert", 'Failed to parse number … in $convert.'],
    ['bad "a"SECRET"b" here', 'bad … here.'],
    ["can't convert from string to date", "can't convert from string to date."],
    ['skip must be positive: -5', 'skip must be positive: ….'],
  ])('is passed on without the value: %j', (message, told) => {
    expect(said(message)).toBe(told);
  });

  it.each(['{', '[', '"', "'", '{"', ': 1'])('is masked in linear time if it repeats %j', async (piece) => {
    expect(said(piece.repeat(200_000)).length).toBeLessThan(400);
    await expectLinear((size) => said(piece.repeat(size)), 200_000);
  });
});
