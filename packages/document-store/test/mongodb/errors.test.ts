import { MongoNetworkError, MongoServerError } from 'mongodb';
import { expect, it } from 'vitest';
import { fromMongodb } from '../../src/mongodb/errors.ts';

const lookUp = Object.assign(new Error('querySrv ENOTFOUND _mongodb._tcp.db.example'), {
  code: 'ENOTFOUND',
  syscall: 'querySrv',
});

it.each([
  ['a refused log-in', new MongoServerError({ code: 18, message: 'Authentication failed.' }), false],
  ['a user without rights', new MongoServerError({ code: 13, message: 'not authorized' }), false],
  ['a server that is away', new MongoNetworkError('connect ECONNREFUSED 10.0.0.1:27017'), true],
  ['a name that is not known yet', lookUp, true],
])('tells whether %s may pass by itself', (_name, err, retryable) => {
  const told = fromMongodb(err);
  expect(told).toMatchObject({ code: 'UNAVAILABLE', retryable, cause: err });
  expect((told as Error).message).not.toContain('10.0.0.1');
});
