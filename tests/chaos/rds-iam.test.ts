/** Sources whose password is a token of AWS RDS IAM, at a PostgreSQL that checks each token as RDS does. */

import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@datahub/service-kit/process/free-port';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Hub, openHub } from '../../services/hub/src/compose.ts';
import { createCertificates } from '../../tools/databases/certificates.ts';
import { findPostgres, type StartedDatabase, startPostgres } from '../../tools/databases/postgres.ts';
import { type Api, createApi } from '../support/api.ts';
import { hubSettings } from '../support/spawned.ts';
import { faultOfToken, type LdapServer, startLdap, type TokenRules } from './support/rds-tokens.ts';

const bin = await findPostgres();
const key = 'test-key-of-rds-iam-0123456789abcdef';
const aws = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'canary-secret-access-key/+=',
  sessionToken: 'canary/session+token==',
};
const user = 'iam reader+1';
const passwordFrom = { kind: 'aws-rds-iam', region: 'eu-central-1' };

describe.skipIf(bin === undefined)('a source that logs in by AWS RDS IAM (needs PostgreSQL)', () => {
  let dir: string;
  let server: StartedDatabase;
  let ldap: LdapServer;
  let rules: TokenRules;
  let hub: Hub | undefined;
  let api: Api;
  let settings: Record<string, any>;
  let hubId: string;
  let accountId: string;
  const tokens: string[] = [];

  const start = async (env: Record<string, string>) => {
    await hub?.close();
    hub = await openHub({
      ...hubSettings(join(dir, 'hub'), key),
      DATAHUB_DEMO: '0',
      ...env,
    });
    api = createApi({ url: hub.url, key });
  };
  const allowed = (entry: string) => ({
    DATAHUB_RDS_IAM_ALLOW: entry,
    DATAHUB_AWS_ACCESS_KEY_ID: aws.accessKeyId,
    DATAHUB_AWS_SECRET_ACCESS_KEY: aws.secretAccessKey,
    DATAHUB_AWS_SESSION_TOKEN: aws.sessionToken,
  });
  const make = (change: object = {}) =>
    api.post('/v1/sources', {
      hubId,
      label: 's',
      engine: 'postgres',
      connectionSettings: { ...settings, ...change },
    });
  const test = async (change: object = {}) =>
    api.post(`/v1/sources/${(await api.ok(make(change))).sourceId}/test`);

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'datahub-rds-iam-'));
    await chmod(dir, 0o755);
    const certificates = await createCertificates(join(dir, 'certificates'));
    const port = await freePort();
    server = await startPostgres(bin as string, { dir, certificates, port });
    rules = { ...aws, region: passwordFrom.region, address: `127.0.0.1:${port}`, user };
    ldap = await startLdap((password) => {
      tokens.push(password);
      return faultOfToken(password, rules, Date.now()) === undefined;
    });
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    await client.query(`CREATE ROLE "${user}" LOGIN`);
    const { hba_file: file } = (await client.query('SHOW hba_file')).rows[0];
    const line = `hostssl all "${user}" 127.0.0.1/32 ldap ldapserver=127.0.0.1 ldapport=${ldap.port} ldapprefix="cn=" ldapsuffix=""`;
    await writeFile(file, `${line}\n${await readFile(file, 'utf8')}`);
    await client.query('SELECT pg_reload_conf()');
    await client.end();
    const ca = await readFile(certificates.ca, 'utf8');
    const tls = { mode: 'verify-full', ca };
    settings = { host: '127.0.0.1', port, database: 'postgres', user, tls, passwordFrom };
    await start({});
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: 'iam' })));
    await make();
    [{ accountId }] = await api.ok(api.get(`/v1/sources?hubId=${hubId}`));
  });
  afterAll(async () => {
    await hub?.close();
    ldap?.close();
    await server?.stop();
    await rm(dir, { recursive: true, force: true });
  });

  it('is refused without a dial unless the operator lists account, user and host', async () => {
    const others = [
      `${accountId}/other@127.0.0.1`,
      `${accountId}/${user}@localhost`,
      `other/${user}@127.0.0.1`,
    ];
    for (const env of [{}, ...others.map(allowed)]) {
      await start(env);
      const { status, body } = await test();
      expect([status, body.code]).toEqual([502, 'SOURCE_AUTH']);
      expect(body.detail).toContain('operator does not allow');
    }
    expect(tokens).toEqual([]);
  });

  it('runs queries, and signs one token for many connections', async () => {
    await start(allowed(`${accountId}/${user}@127.0.0.1`));
    const { sourceId } = await api.ok(make());
    const query = {
      hubId,
      sourceId,
      label: 'q',
      query: 'SELECT current_user AS me, pg_sleep(0.05) AS slept',
    };
    const { queryId } = (await api.ok(api.post('/v1/queries', query))).config.query;
    const run = () => api.ok(api.post('/v1/queries/execute', { queryId }));
    const all = await Promise.all(Array.from({ length: 8 }, run));
    for (const { data } of all) expect(data[0].me).toBe(user);
    expect(tokens.length).toBeGreaterThan(1);
    expect(new Set(tokens).size).toBe(1);
    expect(faultOfToken(tokens[0] as string, rules, Date.now() + 16 * 60_000)).toBe(
      'is not valid at this time',
    );
  });

  it('reports a refused log-in without the token', async () => {
    const { status, body, text } = await test({ passwordFrom: { ...passwordFrom, region: 'eu-west-1' } });
    expect([status, body.code]).toEqual([502, 'SOURCE_AUTH']);
    for (const secret of ['canary', 'X-Amz', aws.accessKeyId]) expect(text).not.toContain(secret);
  });

  it('needs verified TLS, a single host, and no password', async () => {
    const faultsOf = async (change: object) => {
      const { status, body } = await make(change);
      return [status, body.errors?.[0].pointer];
    };
    const { ca } = settings.tls;
    const at = (name: string) => [400, `/connectionSettings/${name}`];
    expect(await faultsOf({ tls: { mode: 'require', ca } })).toEqual(at('passwordFrom'));
    expect(await faultsOf({ hosts: [{ host: 'b.example', port: 1 }] })).toEqual(at('passwordFrom'));
    expect(await faultsOf({ password: 'secret' })).toEqual(at('password'));
    expect(await faultsOf({ passwordFrom: { kind: 'exec', region: 'eu-west-1' } })).toEqual(
      at('passwordFrom/kind'),
    );
    expect(await faultsOf({ passwordFrom: { kind: 'aws-rds-iam', region: 'x' } })).toEqual(
      at('passwordFrom/region'),
    );
    const { passwordFrom: _provider, ...plain } = settings;
    const { status, body } = await api.post('/v1/sources', {
      hubId,
      label: 's',
      engine: 'postgres',
      connectionSettings: plain,
    });
    expect([status, body.errors]).toEqual([
      400,
      [{ pointer: '/connectionSettings/password', detail: 'is missing' }],
    ]);
  });

  it('shows passwordFrom, and needs the user again to change it', async () => {
    const { sourceId } = await api.ok(make());
    const path = `/v1/sources/${sourceId}`;
    const put = (connectionSettings: object) => api.put(path, { connectionSettings });
    const shown = await api.ok(api.get(path));
    expect(shown.connectionSettings.passwordFrom).toEqual(passwordFrom);
    expect(await api.ok(api.put(path, shown))).toEqual(shown);
    const other = { ...passwordFrom, region: 'eu-west-1' };
    expect((await put({ passwordFrom: other })).body.errors[0].pointer).toBe('/connectionSettings/user');
    await api.ok(put({ passwordFrom: other, user }));
    const away = await put({ passwordFrom: null, user });
    expect(away.body.errors[0].pointer).toBe('/connectionSettings/password');
    await api.ok(put({ passwordFrom: null, user, password: 'secret' }));
    expect((await api.ok(api.get(path))).connectionSettings).not.toHaveProperty('passwordFrom');
  });
});
