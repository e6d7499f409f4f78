import { type Environment, readSettings, SettingsError } from '@datahub/service-kit/settings/settings';
import { expect, test } from 'vitest';
import { readExecutorConfig, readSealing } from '../src/config.ts';

const read = (env: Environment, embedded: boolean) =>
  readSettings(env, (reader) => readExecutorConfig(reader, { embedded }));

test('by default a hub in one process may connect to private addresses, and a separate executor may not', () => {
  expect(read({}, true).addresses).toMatchObject({
    loopbackAllowed: true,
    privateAllowed: true,
  });
  expect(read({}, false).addresses).toMatchObject({
    loopbackAllowed: false,
    privateAllowed: false,
  });
  const env = {
    DATAHUB_SOURCES_PRIVATE: '1',
    DATAHUB_SOURCES_ALLOW: '10.0.0.0/8, db.example',
    DATAHUB_OWN_NAMES: 'catalog',
  };
  expect(read(env, false).addresses).toEqual({
    loopbackAllowed: false,
    privateAllowed: true,
    allow: ['10.0.0.0/8', 'db.example'],
    deny: [],
    ownNames: ['catalog'],
  });
});

test('AWS RDS IAM needs a list of allowed log-ins and its own credentials', () => {
  const keys = { DATAHUB_AWS_ACCESS_KEY_ID: 'id', DATAHUB_AWS_SECRET_ACCESS_KEY: 'secret' };
  const one = { accountId: 'one', user: 'reader', host: 'db.example' };
  expect(read({ DATAHUB_RDS_IAM_ALLOW: 'one/reader@db.example', ...keys }, true).rdsIam).toEqual({
    allowed: [one],
    credentials: { accessKeyId: 'id', secretAccessKey: 'secret' },
  });
  // The hub ignores the settings of AWS's own programs.
  const ambient = { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'secret' };
  expect(read(ambient, true).rdsIam).toEqual({ allowed: [], credentials: undefined });
  expect(() => read({ DATAHUB_RDS_IAM_ALLOW: 'one/reader@db.example', ...ambient }, true)).toThrow(
    'DATAHUB_AWS_ACCESS_KEY_ID',
  );
  expect(() => read({ DATAHUB_RDS_IAM_ALLOW: 'reader@db.example', ...keys }, true)).toThrow(
    'account/user@host',
  );
});

test('mail has one sender, and a user with a password', () => {
  const mail = { DATAHUB_MAIL_SERVER: 'smtp://mail.example:587', DATAHUB_MAIL_FROM: 'hub@example.com' };
  for (const from of ['hub@example.com', 'Data Hub <hub@example.com>', '"Hub, Inc." <hub@mail.example>'])
    expect(read({ ...mail, DATAHUB_MAIL_FROM: from }, true).mail).toMatchObject({ from });
  for (const from of ['', 'hub', 'a@b.example, c@d.example', 'Hub, Inc. <hub@b.example>', 'a@b.example>'])
    expect(() => read({ ...mail, DATAHUB_MAIL_FROM: from }, true)).toThrow('DATAHUB_MAIL_FROM');
  for (const one of [{ DATAHUB_MAIL_PASSWORD: 'x' }, { DATAHUB_MAIL_USER: 'hub' }])
    expect(() => read({ ...mail, ...one }, true)).toThrow('DATAHUB_MAIL_USER and DATAHUB_MAIL_PASSWORD');
  for (const server of ['mail.example', 'https://mail.example', 'smtp://a:b@mail.example', 'smtp://h/x?y'])
    expect(() => read({ ...mail, DATAHUB_MAIL_SERVER: server }, true)).toThrow('DATAHUB_MAIL_SERVER');
});

test('one error names every fault', () => {
  const env = {
    DATAHUB_SOURCES_DENY: '10.0.0.0/40',
    DATAHUB_POOL_MAX: '0',
    DATAHUB_CONNECT_TIMEOUT_MS: '5000',
    DATAHUB_STATEMENT_TIMEOUT_MS: 'soon',
  };
  const faulty = () => read(env, true);
  expect(faulty).toThrow(SettingsError);
  for (const name of Object.keys(env)) expect(faulty).toThrow(name);
});

test('reads the limits of waiting executions', () => {
  const env = { DATAHUB_WAITING_MAX: '300', DATAHUB_WAITING_BYTES_MAX: '2097152' };
  expect(read(env, true).connections).toMatchObject({
    waitingPerAccountMax: 5_000,
    waitingMax: 300,
    waitingBytesMax: 2_097_152,
  });
});

test('a separate executor needs a sealing key, and its error shows no key', () => {
  const sealing = (env: Environment) => readSettings(env, readSealing);
  expect(() => sealing({})).toThrow('DATAHUB_SEALING_PRIVATE_KEYS');
  expect(() => sealing({ DATAHUB_SEALING_PRIVATE_KEYS: 'secret-without-form' })).not.toThrow(
    'secret-without-form',
  );
  expect(() => sealing({ DATAHUB_SEALING_PRIVATE_KEYS: 'secret-without-form' })).toThrow(
    'must have the form',
  );
  expect(sealing({ DATAHUB_SEALING_KEY_FILE: '/keys' })).toEqual({ privateKeys: [], keyFile: '/keys' });
});
