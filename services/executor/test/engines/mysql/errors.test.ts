import { describe, expect, it } from 'vitest';
import { toConnectError, toHubError } from '../../../src/engines/mysql/errors.ts';

function said(number: number, message: string): string {
  const head = Buffer.from([0xff, number & 0xff, number >> 8, 0x23]);
  const packet = Buffer.concat([head, Buffer.from(`HY000${message}`)]);
  return toHubError(packet, 0, packet.length).message.replace('The database rejected the statement: ', '');
}

describe('what MySQL says', () => {
  it.each([
    [1062, "Duplicate entry 'a'SECRET'b' for key 'v'", 'Duplicate entry ….'],
    [1062, "Duplicate entry 'a\nSECRET' for key 'v'", 'Duplicate entry ….'],
    [
      1366,
      "Incorrect integer value: 'a'SECRET'b' for column `d`.`t`.`id` at row 1",
      'Incorrect integer value: … for column `t`.`id` at row 1.',
    ],
    [1264, "Out of range value for column 'x' at row 1", 'Out of range value for column … at row 1.'],
    [1292, 'Truncated incorrect DOUBLE value: "a"SECRET"', 'Truncated incorrect DOUBLE value: ….'],
    [1093, "You can't specify target table 't' for update", "You can't specify target table … for update."],
    [1054, "Unknown column 'x' in 'field list'", "Unknown column 'x' in 'field list'."],
  ])('%i is told without the value', (number, message, told) => {
    expect(said(number, message)).toBe(told);
  });

  it.each(["\\'", "'", '`', '"', "'a", '`a`.'])('is looked at in no time, made of %j alone', (piece) => {
    const startedAt = performance.now();
    expect(said(1644, piece.repeat(200_000)).length).toBeLessThan(600);
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });
});

describe('a log-in that is refused', () => {
  it.each([
    [1045, 'SOURCE_AUTH'],
    [3118, 'SOURCE_AUTH'],
    [3955, 'SOURCE_AUTH'],
    [3159, 'SOURCE_TLS'],
    [1040, 'SOURCE_BUSY'],
  ])('with %i is %s, without the words of the driver', (errno, code) => {
    const err = toConnectError(Object.assign(new Error("'u'@'10.0.0.1'"), { errno }));
    expect(err).toMatchObject({ code, stage: 'connect', message: expect.not.stringContaining('10.0.0.1') });
  });
});
