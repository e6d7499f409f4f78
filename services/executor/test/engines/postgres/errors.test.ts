import { expect, it } from 'vitest';
import { expectLinear } from '../../../../../tests/support/growth.ts';
import { logInError } from '../../../src/engines/postgres/errors.ts';

const errorOf = (message: string) => logInError(Buffer.from(`C28000\0M${message}\0\0`));

it('recognizes a server that demands TLS', () => {
  expect(errorOf('no pg_hba.conf entry for host "h", user "u", no encryption').code).toBe('SOURCE_TLS');
  expect(errorOf('no pg_hba.conf entry for host "h", user "u", SSL encryption').code).toBe('SOURCE_AUTH');
});

it('reads a long message of a hostile server in linear time', () =>
  expectLinear((size) => errorOf('no pg_hba.conf entry'.repeat(size)), 12_000));
