import type { HubError } from '@datahub/service-kit/call/error';
import { describe, expect, it } from 'vitest';
import { expectLinear } from '../../../../../tests/support/growth.ts';
import { cpuMs } from '../../../../../tests/support/timing/longest-turn.ts';
import {
  controlError,
  reported,
  setUpError,
  toConnectError,
  toHubError,
} from '../../../src/engines/mysql/errors.ts';

function said(number: number, message: string): string {
  const head = Buffer.from([0xff, number & 0xff, number >> 8, 0x23]);
  const packet = Buffer.concat([head, Buffer.from(`HY000${message}`)]);
  return toHubError(packet, 0, packet.length).message.replace('The database rejected the statement: ', '');
}

describe('a message of MySQL', () => {
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
  ])('%i is passed on without the value', (number, message, told) => {
    expect(said(number, message)).toBe(told);
  });

  it.each(["\\'", "'", '`', '"', "'a", '`a`.'])(
    'is masked in linear time if it repeats %j',
    async (piece) => {
      expect(said(1644, piece.repeat(200_000)).length).toBeLessThan(600);
      await expectLinear((size) => said(1644, piece.repeat(size)), 200_000);
    },
  );
});

describe('the position of a fault', () => {
  const place = (number: number, message: string, text: string) => {
    const head = Buffer.from([0xff, number & 0xff, number >> 8, 0x23]);
    const packet = Buffer.concat([head, Buffer.from(`42000${message}`)]);
    const { sql } = reported(toHubError(packet, 0, packet.length), { text }) as HubError;
    return sql?.line === undefined ? undefined : `${sql.line}:${sql.column}`;
  };
  const near = (rest: string, line: number) => `You have an error; use near '${rest}' at line ${line}`;
  const long = 'x'.repeat(200);

  it.each([
    ['the rest of the statement', 1064, near('FROM t', 2), 'SELECT 1,\n  FROM t ; ', '2:3'],
    ['its end', 1064, near('', 1), '\n SELECT (', '2:10'],
    ['a rest that is cut', 1064, near(`, ${long.slice(2, 80)}`, 1), `SELECT a, , ${long}`, '1:11'],
    [
      'a rest that is cut with dots',
      1064,
      near(`, ${long.slice(2, 80)}...`, 1),
      `SELECT a, , ${long}`,
      '1:11',
    ],
    ['a cut rest in its line', 1064, near('x)...', 3), 'x) a\nx) b\n  x) c x) d\nx) e', '3:3'],
    ['a cut rest in no such line', 1064, near('x)...', 9), 'a x) b\nx) c', '1:3'],
    ['a rest with quotes', 1064, near("'b' at line 9", 1), "SELECT 'a' 'b' at line 9", '1:12'],
    ['a rest that is not there', 1064, near('FROM y', 2), 'SELECT 1,\n FROM t', undefined],
    ['a column', 1054, "Unknown column 'a' in 'field list'", "SELECT 'a', b.a, `A` FROM b", '1:18'],
    ['a qualified column', 1054, "Unknown column 'b.a' in 'SELECT'", 'SELECT a, b.a FROM b', '1:11'],
    ['a column of a clause', 1054, "Unknown column 'a' in 'where clause'", 'SELECT 1 AS a WHERE a', '1:21'],
    ['a column of a clause', 1054, "Unknown column 'a' in 'WHERE'", 'SELECT 1 AS a\nWHERE a', '2:7'],
    ['a table', 1146, "Table 'shop.t' doesn't exist", 'SELECT 1 -- t\nFROM shop.t', '2:11'],
    ['a function', 1305, 'FUNCTION shop.f does not exist', 'SELECT f, 2', '1:8'],
    ['nothing', 1062, "Duplicate entry 'x' for key 'y'", 'INSERT INTO t VALUES (1)', undefined],
  ])('is found by %s', (_case, number, message, text, expected) => {
    expect(place(number, message, text)).toBe(expected);
  });

  it('is found without counting the lines before each place that could be meant', () => {
    const text = '\n'.repeat(1_000_000) + 'x) '.repeat(100);
    const cpuOf = (work: () => unknown): number => {
      const before = cpuMs();
      work();
      return cpuMs() - before;
    };
    const lines = cpuOf(() => text.split('\n').length + [...text].length);
    expect(cpuOf(() => place(1064, near('x) ...', 7), text))).toBeLessThan(10 * lines);
  });

  it('is found in linear time', async () => {
    for (const rest of ["'".repeat(2_000), 'x', '', '\ufffd'.repeat(2_000)])
      for (const piece of ['x', ' ', '; ', '\n'])
        await expectLinear((size) => place(1064, near(rest, 7), `x${piece.repeat(size)}x`), 262_144);
    for (const piece of ['x', '\n'])
      await expectLinear(
        (size) => place(1064, near('x)', 7), piece.repeat(size) + 'x) '.repeat(size)),
        65_536,
      );
    const message = `Unknown column '${'a.'.repeat(900)}' in 'WHERE'`;
    await expectLinear((size) => place(1054, message, 'a.'.repeat(size)), 131_072);
  });
});

describe('a log-in that is refused', () => {
  it.each([
    [1045, 'SOURCE_AUTH'],
    [3118, 'SOURCE_AUTH'],
    [3955, 'SOURCE_AUTH'],
    [3159, 'SOURCE_TLS'],
    [1040, 'SOURCE_BUSY'],
  ])('with %i is %s, without the message of the driver', (errno, code) => {
    const err = toConnectError(Object.assign(new Error("'u'@'10.0.0.1'"), { errno }));
    expect(err).toMatchObject({ code, stage: 'connect', message: expect.not.stringContaining('10.0.0.1') });
  });
});

describe('a limit of the server', () => {
  const refusal = (number: number) => {
    const packet = Buffer.concat([
      Buffer.from([0xff, number & 0xff, number >> 8, 0x23]),
      Buffer.from("42000User 'u' has exceeded the 'max_questions' resource (current value: 1)"),
    ]);
    return toHubError(packet, 0, packet.length);
  };

  it.each([1226, 1461])('at a command of the hub is SOURCE_BUSY: %i', (number) => {
    const busy = { code: 'SOURCE_BUSY', retryable: true };
    expect(controlError(refusal(number))).toMatchObject(busy);
    expect(setUpError(refusal(number))).toMatchObject({ ...busy, stage: 'connect' });
  });

  it('at a statement is the error of the statement, because SQL can raise any number', () => {
    expect(refusal(1226).code).toBe('SQL_REJECTED');
    expect(controlError(refusal(1064)).code).toBe('SOURCE_UNREACHABLE');
  });

  it("of a server that only reads, such as a primary after a fail-over, says so at the hub's own commands", () => {
    for (const number of [1290, 1792, 1836]) {
      const error = controlError(refusal(number));
      expect(error).toMatchObject({
        code: 'SQL_REJECTED',
        retryable: false,
        message: refusal(number).message,
      });
      expect(error.message).toContain('read');
    }
  });
});
