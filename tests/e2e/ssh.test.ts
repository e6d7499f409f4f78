/** Sources behind an SSH bastion, which is OpenSSH's own server. Without it, these tests are skipped. */

import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { freePort } from '@datahub/service-kit/process/free-port';
import mysql from 'mysql2/promise';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type Bastion, findSshd, type Relay, startRelay, startSshd } from '../../tools/databases/sshd.ts';
import { processList } from '../support/databases.ts';
import { api, apiOf, database, engines } from '../support/hub.ts';

const sshdProgram = findSshd();

describe.skipIf(sshdProgram === undefined)('a source behind a bastion (needs sshd)', () => {
  let bastion: Bastion;
  let relay: Relay;
  let hubId: string;

  beforeAll(async () => {
    bastion = await startSshd(sshdProgram as string);
    relay = await startRelay(bastion.port);
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: 'bastion' })));
  });
  afterAll(async () => {
    await relay?.close();
    await bastion?.stop();
  });

  const sshOf = (change: object = {}) => ({
    ...{ host: '127.0.0.1', port: relay.port, user: bastion.user },
    ...{ hostKey: bastion.hostKey, privateKey: bastion.privateKey, ...change },
  });
  const bodyOf = (engine: string, ssh: object, settings: object = {}) => ({
    ...{ hubId, label: `behind ${engine}`, engine },
    connectionSettings: { ...database(engine), ssh, ...settings },
  });
  const make = async (
    engine: string,
    { ssh = {}, settings = {} }: { ssh?: object; settings?: object } = {},
  ) => (await api.ok(api.post('/v1/sources', bodyOf(engine, sshOf(ssh), settings)))).sourceId as string;
  const save = async (sourceId: string, query: string, command = 'SELECT') =>
    (await api.ok(api.post('/v1/queries', { hubId, label: 'q', sourceId, query, command }))).config.query
      .queryId as string;
  const run = (queryId: string, options: object = {}) =>
    api.post('/v1/queries/execute', { queryId, options });
  const test = (sourceId: string) => api.post(`/v1/sources/${sourceId}/test`);
  /** On a busy machine, the first attempt to connect may run into its time limit. */
  const ready = (sourceId: string) =>
    expect.poll(async () => (await test(sourceId)).body).toMatchObject({ ok: true });

  /** A text that no other statement of the server has: other forms of the hub may run these tests at the same time. */
  const markOf = (what: string) => `${what}-${randomBytes(6).toString('hex')}`;
  /** The statements that run at the database and contain the mark. */
  const running = async (engine: string, mark: string): Promise<number> => {
    const { host, port, user, password, database: name } = database(engine);
    if (engine === 'postgres') {
      const client = new pg.Client({ host, port, user, password, database: name });
      await client.connect();
      const text =
        "SELECT count(*)::int AS n FROM pg_stat_activity WHERE query LIKE $1 AND state = 'active' AND pid <> pg_backend_pid()";
      const { rows } = await client.query(text, [`%${mark}%`]);
      await client.end();
      return rows[0].n;
    }
    const connection = await mysql.createConnection({ host, port, user, password, database: name });
    const text = `SELECT COUNT(*) AS n FROM ${processList(engine)} WHERE info LIKE ? AND id <> CONNECTION_ID()`;
    const [[row]] = await connection.query<mysql.RowDataPacket[]>(text, [`%${mark}%`]);
    await connection.end();
    return row?.n;
  };
  const slow = (engine: string, mark: string, seconds = 60) =>
    `SELECT /* ${mark} */ ${engine === 'postgres' ? 'pg_sleep' : 'SLEEP'}(${seconds})`;

  describe.each(engines)('%s', (engine) => {
    it('is tested, reads and writes, with one connection to the bastion for the whole pool', async () => {
      // No other pool connects through it.
      const own = await startRelay(bastion.port);
      const sourceId = await make(engine, { ssh: { port: own.port } });
      await ready(sourceId);
      const read = await save(sourceId, 'SELECT id, region FROM sales ORDER BY id');
      expect((await api.ok(run(read))).data[0]).toEqual({ id: 1, region: 'north' });
      const write = await save(sourceId, "INSERT INTO scratch VALUES (701, 'behind')", 'INSERT');
      expect((await api.ok(run(write))).data).toEqual([{ affectedRows: 1 }]);
      const remove = await save(sourceId, 'DELETE FROM scratch WHERE id = 701', 'DELETE');
      expect((await api.ok(run(remove))).data).toEqual([{ affectedRows: 1 }]);
      const before = own.accepted;
      const wide = await save(sourceId, slow(engine, markOf('pool'), 1));
      const all = await Promise.all(Array.from({ length: 5 }, () => run(wide)));
      expect(all.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
      // In each executor that had none yet.
      expect(own.accepted - before).toBeLessThan(inject('hub').replicas);
      await api.ok(api.delete(`/v1/sources/${sourceId}`));
      await own.close();
    });

    it('passes on a large answer whole', async () => {
      const sourceId = await make(engine);
      await ready(sourceId);
      const tens = 'SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5';
      const many = Array.from({ length: 7 }, (_, i) => `(${tens}) t${i}`).join(' CROSS JOIN ');
      const read = await save(sourceId, `SELECT REPEAT('x', 500) AS x FROM ${many}`);
      const { data } = await api.ok(run(read));
      expect([data.length, data.every(({ x }: { x: string }) => x.length === 500)]).toEqual([78_125, true]);
    });

    it('is cancelled through the bastion', async () => {
      const sourceId = await make(engine);
      await ready(sourceId);
      const mark = markOf('cancel');
      const read = await save(sourceId, slow(engine, mark));
      const leave = new AbortController();
      const { url, key } = inject('hub');
      const call = fetch(`${url}/v1/queries/${read}/data`, {
        headers: { 'x-service-api-key': key },
        signal: leave.signal,
      });
      call.catch(() => {});
      await expect.poll(() => running(engine, mark)).toBe(1);
      leave.abort();
      await expect.poll(() => running(engine, mark)).toBe(0);
    });

    it('is connected again after the bastion has ended the connection', async () => {
      const sourceId = await make(engine, { settings: { pool: { max: 1 } } });
      await ready(sourceId);
      // So that the description of a query is not what the connection is cut in.
      const described = (queryId: string) =>
        expect
          .poll(async () => (await api.get(`/v1/queries/${queryId}?signature=1`)).text)
          .toContain('columns');
      const read = await save(sourceId, 'SELECT COUNT(*) AS n FROM sales');
      await described(read);
      await api.ok(run(read));
      // Between two statements. What the database cannot have received is repeated.
      for (let i = 0; i < 5; i++) {
        relay.cut();
        expect((await run(read)).body.data).toEqual([{ n: 3 }]);
      }
      // During a statement that reads.
      const mark = markOf('read');
      const wide = await save(sourceId, slow(engine, mark, 3));
      await described(wide);
      const reading = run(wide);
      await expect.poll(() => running(engine, mark)).toBe(1);
      relay.cut();
      const cut = await reading;
      expect([cut.status, cut.body.code, cut.body.retryable]).toEqual([502, 'SOURCE_BROKEN', true]);
      // During a statement that writes.
      const sleeping = engine === 'postgres' ? 'pg_sleep(3)::text' : 'SLEEP(3)';
      const written = markOf('write');
      const text = `INSERT /* ${written} */ INTO scratch SELECT 702, ${sleeping}`;
      const writing = run(await save(sourceId, text, 'INSERT'));
      await expect.poll(() => running(engine, written)).toBe(1);
      relay.cut();
      const { status, body } = await writing;
      expect([status, body.code, body.retryable]).toEqual([503, 'OUTCOME_UNKNOWN', false]);
      await expect.poll(() => running(engine, written)).toBe(0);
      await api.ok(run(await save(sourceId, 'DELETE FROM scratch WHERE id = 702', 'DELETE')));
    });

    const ca = process.env.TEST_CA;
    it.skipIf(ca === undefined)('checks the certificate of the database (needs TEST_CA)', async () => {
      const pem = await readFile(ca as string, 'utf8');
      const tls = { mode: 'verify-full', ca: pem };
      // The certificate is for localhost, which the bastion resolves.
      const sourceId = await make(engine, { settings: { host: 'localhost', tls } });
      await ready(sourceId);
      const wrong = await make(engine, { settings: { host: 'localhost', tls: { mode: 'verify-full' } } });
      const { status, body } = await test(wrong);
      expect([status, body.code]).toEqual([502, 'SOURCE_TLS']);
    });
  });

  describe('says what is wrong:', () => {
    const engine = engines[0] as string;
    const failsWith = async (change: { ssh?: object; settings?: object }, as = api) => {
      const hub = await as.ok(as.post('/v1/hubs', { label: 'wrong' }));
      const body = { ...bodyOf(engine, sshOf(change.ssh), change.settings), hubId: hub.hubId };
      const { sourceId } = await as.ok(as.post('/v1/sources', body));
      const { status, body: problem, text } = await as.post(`/v1/sources/${sourceId}/test`);
      expect(text).not.toContain(bastion.privateKey.slice(100, 140));
      return [status, problem.code, problem.detail] as [number, string, string];
    };

    it('another host key', async () => {
      const other = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl';
      const [status, code, detail] = await failsWith({ ssh: { hostKey: other } });
      expect([status, code]).toEqual([502, 'SOURCE_TLS']);
      expect(detail).toContain(`It showed ${bastion.fingerprint}`);
      const fingerprint = `SHA256:${'A'.repeat(43)}`;
      expect((await failsWith({ ssh: { hostKey: fingerprint } })).slice(0, 2)).toEqual([502, 'SOURCE_TLS']);
    });

    it('a key of another type', async () => {
      const rsa = `ssh-rsa AAAAB3NzaC1yc2E${'A'.repeat(300)}`;
      const [, code, detail] = await failsWith({ ssh: { hostKey: rsa } });
      expect([code, detail]).toEqual(['SOURCE_TLS', expect.stringContaining('no key of that type')]);
    });

    it('a refused log-in', async () => {
      const as = apiOf(inject('hub').refusedKey);
      const [status, code, detail] = await failsWith({ ssh: { privateKey: bastion.strangerKey } }, as);
      expect([status, code]).toEqual([502, 'SOURCE_AUTH']);
      expect(detail).toContain('The bastion of the source refused the log-in.');
    });

    it('an unreachable bastion', async () => {
      const [status, code, detail] = await failsWith({ ssh: { port: await freePort() } });
      expect([status, code]).toEqual([502, 'SOURCE_UNREACHABLE']);
      expect(detail).toContain('The bastion of the source cannot be reached.');
      // The policy for addresses applies to the bastion, and answers like a closed port.
      expect((await failsWith({ ssh: { host: '169.254.169.254' } }))[2]).toBe(detail);
    });

    it('a server that the bastion cannot reach', async () => {
      const [status, code, detail] = await failsWith({ settings: { port: await freePort() } });
      expect([status, code]).toEqual([502, 'SOURCE_UNREACHABLE']);
      expect(detail).toContain('The bastion was reached, but it cannot reach the source.');
      expect((await failsWith({ settings: { host: 'no-such-host.invalid' } }))[2]).toBe(detail);
    });

    it('an address behind the bastion that no setting allows', async () => {
      const [status, code, detail] = await failsWith({ settings: { host: '169.254.169.254' } });
      expect([status, code]).toEqual([502, 'SOURCE_UNREACHABLE']);
      expect(detail).toContain('The source cannot be reached.');
    });

    it('forwarding that the bastion refuses', async () => {
      const closed = await startSshd(sshdProgram as string, ['AllowTcpForwarding no']);
      const { port, hostKey, privateKey } = closed;
      const [status, code, detail] = await failsWith({ ssh: { port, hostKey, privateKey } });
      await closed.stop();
      expect([status, code]).toEqual([502, 'SOURCE_UNREACHABLE']);
      expect(detail).toContain('The bastion refused to forward to the source.');
    });
  });

  it('keeps its secrets to itself, and keeps them with their masks', async () => {
    const engine = engines[0] as string;
    // No other pool connects through it.
    const own = await startRelay(bastion.port);
    const sourceId = await make(engine, { ssh: { port: own.port } });
    const { connectionSettings } = await api.ok(api.get(`/v1/sources/${sourceId}`));
    const { privateKey, ...plain } = sshOf({ port: own.port });
    expect(connectionSettings.ssh).toEqual({ ...plain, privateKey: '********' });
    await api.ok(api.put(`/v1/sources/${sourceId}`, { connectionSettings: { ...connectionSettings } }));
    await ready(sourceId);
    // The same key as a fingerprint: the secrets are encrypted for the old setting.
    const changed = { ssh: { hostKey: bastion.fingerprint } };
    const { status, body } = await api.put(`/v1/sources/${sourceId}`, { connectionSettings: changed });
    const pointers = body.errors.map(({ pointer }: { pointer: string }) => pointer);
    expect([status, pointers]).toEqual([
      400,
      ['user', 'password', 'ssh/privateKey'].map((name) => `/connectionSettings/${name}`),
    ]);
    const { user, password } = database(engine);
    const again = { user, password, ssh: { ...changed.ssh, privateKey } };
    await api.ok(api.put(`/v1/sources/${sourceId}`, { connectionSettings: again }));
    await ready(sourceId);
    // Without the bastion, the database is dialled directly.
    const direct = { user, password, ssh: null };
    await api.ok(api.put(`/v1/sources/${sourceId}`, { connectionSettings: direct }));
    const before = own.accepted;
    expect(before).toBeGreaterThan(0);
    await ready(sourceId);
    expect(own.accepted).toBe(before);
    await own.close();
  });

  it('closes its connection to the bastion with its pool', async () => {
    // Other pools connect again when they like.
    const own = await startRelay(bastion.port);
    const settings = { pool: { idleTimeoutMs: 1_000 } };
    const sourceId = await make(engines[0] as string, { ssh: { port: own.port }, settings });
    await ready(sourceId);
    expect(own.accepted).toBeGreaterThan(0);
    await expect.poll(() => own.open).toBe(0);
    await own.close();
  });

  const mongodb = process.env.MONGODB_URL;
  it.skipIf(mongodb === undefined)('is a MongoDB (needs MONGODB_URL)', async () => {
    const { hostname: host, port } = new URL(mongodb as string);
    const before = relay.accepted;
    const connectionSettings = {
      host,
      port: Number(port),
      database: 'behind',
      user: '',
      password: '',
      ssh: sshOf(),
    };
    const body = { hubId, label: 'documents', engine: 'mongodb', connectionSettings };
    const { sourceId } = await api.ok(api.post('/v1/sources', body));
    await ready(sourceId);
    const find = await save(sourceId, '{"find": "nothing", "filter": {}}');
    expect((await api.ok(run(find))).data).toEqual([]);
    expect(relay.accepted).toBeGreaterThan(before);
  });

  it.each<[string, object, string]>([
    ['no secret', { privateKey: null }, 'ssh'],
    ['two secrets', { password: 'p' }, 'ssh'],
    ['no host key', { hostKey: undefined }, 'ssh/hostKey'],
    ['half of a host key', { hostKey: 'ssh-ed25519' }, 'ssh/hostKey'],
    ['no key', { privateKey: 'secret' }, 'ssh/privateKey'],
    [
      'a key in PKCS 8',
      { privateKey: '-----BEGIN PRIVATE KEY-----\nAA\n-----END PRIVATE KEY-----' },
      'ssh/privateKey',
    ],
    ['a port without a number', { port: 70_000 }, 'ssh/port'],
  ])('is not saved with %s', async (_, change, pointer) => {
    const { status, body } = await api.post('/v1/sources', bodyOf(engines[0] as string, sshOf(change)));
    expect([status, body.errors[0].pointer]).toEqual([400, `/connectionSettings/${pointer}`]);
  });
});
