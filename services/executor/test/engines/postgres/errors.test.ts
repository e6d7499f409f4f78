import { describe, expect, it } from 'vitest';
import { expectLinear } from '../../../../../tests/support/growth.ts';
import { logInError, setUpError, toHubError } from '../../../src/engines/postgres/errors.ts';
import { readFields } from '../../../src/engines/postgres/protocol.ts';

const errorOf = (message: string) => logInError(Buffer.from(`C28000\0M${message}\0\0`));

it('recognizes a server that demands TLS', () => {
  expect(errorOf('no pg_hba.conf entry for host "h", user "u", no encryption').code).toBe('SOURCE_TLS');
  expect(errorOf('no pg_hba.conf entry for host "h", user "u", SSL encryption').code).toBe('SOURCE_AUTH');
});

it('reads a long message of a hostile server in linear time', () =>
  expectLinear((size) => errorOf('no pg_hba.conf entry'.repeat(size)), 12_000));

it('reads no more of a message than a server has to say', () => {
  const fields = Buffer.from(`C22012\0Mdivision by zero\0${'x\0'.repeat(100)}Pnever\0\0`);
  expect([...readFields(fields).keys()]).toEqual(['C', 'M', 'x']);
});

describe('a pooler without a connection is busy, not unreachable', () => {
  const body = (severity: string) => Buffer.from(`S${severity}\0C08P01\0Mquery_wait_timeout\0\0`);
  const busy = { code: 'SOURCE_BUSY', retryable: true };

  it('at the log-in, at the set-up of a session, and at a statement', () => {
    expect(logInError(body('FATAL'))).toMatchObject(busy);
    expect(setUpError(toHubError(body('FATAL')))).toMatchObject(busy);
    expect(toHubError(body('FATAL'))).toMatchObject(busy);
  });

  it('unless SQL raised the error', () => {
    expect(toHubError(body('ERROR')).code).toBe('SQL_REJECTED');
  });
});

describe('the message of RAISE', () => {
  const raised = (message: string, routine = 'exec_stmt_raise', state = 'P0001') =>
    toHubError(Buffer.from(`SERROR\0C${state}\0M${message}\0Win a function\0R${routine}\0\0`)).message;

  it.each([
    ["the value 'canary'", 'the value …'],
    ['the value "canary"', 'the value …'],
    ["it isn't 'canary'", "it isn't …"],
    [`'a' and "canary"`, '…'],
    [`"a' and canary"`, '…'],
    ["an open 'canary", 'an open …'],
    ['only 5 are left', 'only 5 are left'],
  ])('leaves out what it quotes: %s', (message, shown) => {
    const rejected = `The database rejected the statement: ${shown}.`;
    expect(raised(message)).toBe(rejected);
    expect(raised(message, 'exec_stmt_raise', '22023')).toBe(rejected);
    expect(raised(message, 'PLy_elog_impl', '38000')).toBe(rejected);
  });

  it('is read in linear time', () => expectLinear((size) => raised(`'"`.repeat(size)), 12_000));

  it('is none of the server’s own, whose quoted names stay', () => {
    expect(raised('relation "orders" does not exist', 'parserOpenTable', '42P01')).toContain('"orders"');
  });
});

it.each([
  'time zone "canary\nline two" not recognized',
  'time zone "canary, and: "more"" not recognized',
  `time zone "canary ${'x'.repeat(600)}" not recognized`,
])('hides the beginning of a quoted value without its end: %s', (message) => {
  const { message: told } = toHubError(Buffer.from(`SERROR\0C22023\0M${message}\0Hlook at "canary\nit"\0\0`));
  expect(told).toBe('The database rejected the statement: time zone "…". look at "…"');
});
