import { describe, expect, it } from 'vitest';
import { expectLinear } from '../../../../../tests/support/growth.ts';
import { logInError, setUpError, toHubError } from '../../../src/engines/postgres/errors.ts';

const errorOf = (message: string) => logInError(Buffer.from(`C28000\0M${message}\0\0`));

it('recognizes a server that demands TLS', () => {
  expect(errorOf('no pg_hba.conf entry for host "h", user "u", no encryption').code).toBe('SOURCE_TLS');
  expect(errorOf('no pg_hba.conf entry for host "h", user "u", SSL encryption').code).toBe('SOURCE_AUTH');
});

it('reads a long message of a hostile server in linear time', () =>
  expectLinear((size) => errorOf('no pg_hba.conf entry'.repeat(size)), 12_000));

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
