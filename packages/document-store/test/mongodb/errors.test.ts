import type { HubError } from '@datahub/service-kit/call/error';
import {
  BSON,
  MongoClientClosedError,
  MongoErrorLabel,
  MongoInvalidArgumentError,
  MongoNetworkError,
  MongoNetworkTimeoutError,
  MongoParseError,
  MongoServerError,
  MongoTopologyClosedError,
  MongoUnexpectedServerResponseError,
} from 'mongodb';
import { expect, it } from 'vitest';
import { fromMongodb, isUnanswered } from '../../src/mongodb/errors.ts';

const system = (code: string, syscall?: string) =>
  Object.assign(new Error(`${syscall} ${code} 10.0.0.1:27017`), { code, ...(syscall && { syscall }) });
const answered = (code: number, message = 'of 10.0.0.1:27017') => new MongoServerError({ code, message });
const named = (name: string) =>
  Object.defineProperty(new MongoNetworkError('of 10.0.0.1'), 'name', { value: name });
const inHandshake = new MongoNetworkError('connection 1 to 10.0.0.1:27017 closed');
inHandshake.addErrorLabel(MongoErrorLabel.HandshakeError);

it.each<[string, unknown, Partial<HubError>]>([
  ['a refused log-in', answered(18), { code: 'UNAVAILABLE', retryable: false }],
  ['a user without rights', answered(13), { code: 'UNAVAILABLE', retryable: false }],
  ['a server that is not the primary', answered(10107), { code: 'UNAVAILABLE', retryable: true }],
  ['a document that is there', answered(11000), { code: 'CONFLICT' }],
  ['a duplicate on FerretDB', answered(1, 'UNIQUE constraint failed: t._id'), { code: 'CONFLICT' }],
  ['a refused connection', system('ECONNREFUSED', 'connect'), { code: 'UNAVAILABLE', retryable: true }],
  ['a name that is not known yet', system('ENOTFOUND', 'querySrv'), { code: 'UNAVAILABLE', retryable: true }],
  ['a name that does not resolve', system('EAI_AGAIN', 'getaddrinfo'), { code: 'UNAVAILABLE' }],
  [
    'a connection that was not made',
    new MongoNetworkError('connect ECONNREFUSED 10.0.0.1', { cause: system('ECONNREFUSED', 'connect') }),
    { code: 'UNAVAILABLE', retryable: true },
  ],
  ['a connection that was cut in its handshake', inHandshake, { code: 'UNAVAILABLE', retryable: true }],
  ['a closed topology', new MongoTopologyClosedError('closed'), { code: 'UNAVAILABLE', retryable: true }],
  ['a pool without connections', named('MongoPoolClearedError'), { code: 'UNAVAILABLE', retryable: true }],
])('a call had no effect after %s', (_name, err, told) => {
  const converted = fromMongodb(err);
  expect(converted).toMatchObject({ ...told, cause: err });
  expect((converted as Error).message).not.toContain('10.0.0.1');
  expect(isUnanswered(converted)).toBe(false);
});

it.each([
  ['a broken connection', new MongoNetworkError('read ECONNRESET 10.0.0.1')],
  ['a silent server', new MongoNetworkTimeoutError('timed out')],
  ['a server that stops', answered(91)],
  ['a failure inside the server', answered(1)],
  ['a write that few servers have', answered(64)],
  ['a call that an admin killed', answered(11601)],
  ['a cursor that is gone', answered(43)],
  ['a shard that does not answer a mongos', answered(202)],
  ['a shard whose answer is lost', answered(8000, 'Write results unavailable from s1 :: caused by :: x')],
  ['a closed client', new MongoClientClosedError()],
  ['a connection that the monitor cut', named('PoolClearedOnNetworkError')],
  ['an answer that is none', new MongoUnexpectedServerResponseError('what')],
  ['a message of a wrong size', new MongoParseError('Invalid message size')],
  ['a document that is none', new BSON.BSONError('corrupt')],
  ['a reset socket', system('ECONNRESET', 'read')],
  ['a reset socket without a call', system('ECONNRESET')],
  ['a closed pipe', system('EPIPE', 'write')],
  ['a route that is gone', system('EHOSTUNREACH', 'read')],
  ['a closed socket', system('ERR_SOCKET_CLOSED')],
  ['a stream that is destroyed', system('ERR_STREAM_DESTROYED')],
  ['TLS that fails', system('ERR_SSL_WRONG_VERSION_NUMBER')],
])('a call may have had its effect after %s', (_name, err) => {
  const converted = fromMongodb(err);
  expect(converted).toMatchObject({ code: 'UNAVAILABLE', retryable: true, cause: err });
  expect(isUnanswered(converted)).toBe(true);
});

it.each([
  ['a wrong call of the driver', new MongoInvalidArgumentError('filter')],
  ['a wrong filter', answered(2)],
  ['a wrong argument', Object.assign(new TypeError('no'), { code: 'ERR_INVALID_ARG_TYPE' })],
  ['a bug', new TypeError('undefined is no function')],
])('%s stays the fault of the hub', (_name, err) => {
  expect(fromMongodb(err)).toBe(err);
});
