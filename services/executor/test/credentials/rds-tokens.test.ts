import { HubError } from '@datahub/service-kit/call/error';
import { beforeEach, describe, expect, it } from 'vitest';
import { faultOfToken } from '../../../../tests/chaos/support/rds-tokens.ts';
import { createRdsTokens, parseAllowed, type RdsTokens } from '../../src/credentials/rds-tokens.ts';
import type { Connection, ConnectSettings } from '../../src/ports/engine.ts';

const credentials = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'secret/+=',
  sessionToken: 'a+b/c==',
};
const allowed = [{ accountId: 'one', user: 'reader (a)', host: 'Shop.abc.eu-central-1.rds.amazonaws.com' }];
const source: ConnectSettings = {
  engine: 'mysql',
  host: 'shop.ABC.eu-central-1.rds.amazonaws.com.',
  port: 3_306,
  database: 'shop',
  user: 'reader (a)',
  password: '',
  tls: { mode: 'verify-full' },
  passwordFrom: { kind: 'aws-rds-iam', region: 'eu-central-1' },
};
const rules = {
  ...credentials,
  region: 'eu-central-1',
  address: 'shop.abc.eu-central-1.rds.amazonaws.com:3306',
  user: 'reader (a)',
};
const refused = new HubError('SOURCE_AUTH', 'refused', { retryable: false });

describe('tokens of RDS IAM', () => {
  let nowMs: number;
  let tokens: RdsTokens;
  let given: string[];
  let answers: (HubError | undefined)[];

  beforeEach(() => {
    nowMs = Date.parse('2026-11-20T13:04:05Z');
    tokens = createRdsTokens({ allowed, credentials }, () => nowMs);
    [given, answers] = [[], []];
  });

  const connect = (accountId = 'one', change: Partial<ConnectSettings> = {}) =>
    tokens.connect(accountId, { ...source, ...change }, async ({ password }) => {
      given.push(password);
      const err = answers.shift();
      if (err !== undefined) throw err;
      return {} as Connection;
    });

  it('are signed as AWS requires', async () => {
    await connect();
    expect(faultOfToken(given[0] as string, rules, nowMs + 14 * 60_000)).toBeUndefined();
    expect(faultOfToken(given[0] as string, rules, nowMs + 15 * 60_000)).toBe('is not valid at this time');
    for (const other of [
      { secretAccessKey: 'x' },
      { user: 'x' },
      { address: 'x:1' },
      { region: 'eu-west-1' },
    ])
      expect(faultOfToken(given[0] as string, { ...rules, ...other }, nowMs)).toBeDefined();
  });

  it('are created only for a listed account, user and host, over verified TLS to one host', async () => {
    const others: [string, Partial<ConnectSettings>][] = [
      ['two', {}],
      ['one', { user: 'admin' }],
      ['one', { host: 'other.example' }],
      ['one', { tls: { mode: 'require' } }],
      ['one', { hosts: [{ host: 'other.example', port: 3_306 }] }],
    ];
    for (const [accountId, change] of others)
      await expect(connect(accountId, change)).rejects.toMatchObject({
        code: 'SOURCE_AUTH',
        retryable: false,
      });
    tokens = createRdsTokens({ allowed, credentials: undefined }, () => nowMs);
    await expect(connect()).rejects.toMatchObject({ code: 'SOURCE_AUTH' });
    expect(given).toEqual([]);
  });

  it('are reused until shortly before they expire', async () => {
    await connect();
    nowMs += 11 * 60_000;
    await connect();
    nowMs += 2 * 60_000;
    await connect();
    expect([given[1] === given[0], given[2] === given[1]]).toEqual([true, false]);
  });

  it('are renewed once if a cached one is refused', async () => {
    await connect();
    nowMs += 60_000;
    answers = [refused];
    await connect();
    expect([given.length, given[1] === given[0], given[2] === given[0]]).toEqual([3, true, false]);
    nowMs += 60_000;
    answers = [refused, refused];
    await expect(connect()).rejects.toBe(refused);
    expect(given).toHaveLength(5);
    answers = [refused];
    await expect(connect()).rejects.toBe(refused);
    expect(given).toHaveLength(6);
  });

  it('are not renewed for other errors', async () => {
    await connect();
    answers = [new HubError('SOURCE_UNREACHABLE', 'away', {})];
    await expect(connect()).rejects.toMatchObject({ code: 'SOURCE_UNREACHABLE' });
    expect(given).toHaveLength(2);
  });

  it.each([
    ['one/reader@db.example', { accountId: 'one', user: 'reader', host: 'db.example' }],
    ['one/a/b@c@db.example', { accountId: 'one', user: 'a/b@c', host: 'db.example' }],
    ['one/reader', undefined],
    ['reader@db.example', undefined],
    ['one/@db.example', undefined],
  ])('are allowed by the entry %s', (entry, expected) => {
    expect(parseAllowed(entry)).toEqual(expected);
  });
});
