import { randomBytes } from 'node:crypto';
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { formats } from '../../packages/contract/src/formats.ts';
import { readXlsx } from '../../tools/xlsx-reader.ts';
import { accessOf } from '../support/databases.ts';
import { api } from '../support/hub.ts';

const { MONGODB_URL } = process.env;
const database = `e2e_source_${randomBytes(4).toString('hex')}`;

describe.skipIf(MONGODB_URL === undefined)('a mongodb source (needs MONGODB_URL)', () => {
  let client: MongoClient;
  let hubId: string;
  let sourceId: string;
  const connectionSettings = () => ({ ...accessOf(MONGODB_URL as string), database });

  beforeAll(async () => {
    client = await new MongoClient(MONGODB_URL as string).connect();
    await client
      .db(database)
      .collection<{ _id: number; region: string; amount: number; secret: string }>('sales')
      .insertMany([
        { _id: 1, region: 'north', amount: 10.5, secret: 'canary' },
        { _id: 2, region: 'south', amount: 20, secret: 'canary' },
        { _id: 3, region: '$secret', amount: 30, secret: 'canary' },
      ]);
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: 'mongodb' })));
    const body = { hubId, label: 'shop', engine: 'mongodb', connectionSettings: connectionSettings() };
    ({ sourceId } = await api.ok(api.post('/v1/sources', body)));
  });
  afterAll(async () => {
    await client.db(database).dropDatabase();
    await client.close();
  });

  const store = (query: object, change: object = {}) =>
    api.post('/v1/queries', { hubId, sourceId, label: 'q', query: JSON.stringify(query), ...change });
  const stored = async (query: object, change: object = {}): Promise<string> =>
    (await api.ok(store(query, change))).config.query.queryId;
  const execute = (queryId: string, more: object = {}, headers: Record<string, string> = {}) =>
    api.post('/v1/queries/execute', { queryId, ...more }, { headers });
  const run = async (query: object, context: object = {}, change: object = {}) =>
    (await api.ok(execute(await stored(query, change), { context }))).data;

  const byRegion = { find: 'sales', filter: { region: ':region' }, projection: { amount: 1 } };

  it('can be tested, and returns its schema', async () => {
    expect(await api.ok(api.post(`/v1/sources/${sourceId}/test`))).toMatchObject({
      ok: true,
      serverVersion: expect.stringMatching(/^MongoDB \d/),
    });
    const { tables } = await api.ok(api.get(`/v1/sources/${sourceId}/schema`));
    expect(tables).toMatchObject([
      {
        schema: database,
        name: 'sales',
        columns: expect.arrayContaining([{ name: 'region', type: 'string', nullable: false }]),
      },
    ]);
  });

  it('runs a stored command with its values', async () => {
    expect(await run(byRegion, { region: 'north' })).toEqual([{ _id: 1, amount: 10.5 }]);
    expect(await run({ count: 'sales', query: { _id: { $in: ':ids' } } }, { ids: [1, 3, 5] })).toEqual([
      { count: 2 },
    ]);
    const pipeline = [
      { $match: { amount: { $gte: ':least' } } },
      { $group: { _id: null, total: { $sum: '$amount' } } },
    ];
    expect(await run({ aggregate: 'sales', pipeline }, { least: 20 })).toEqual([{ _id: null, total: 50 }]);
    const regions = await run(
      { distinct: 'sales', key: 'region', query: { amount: { $gte: ':least' } } },
      { least: 0 },
    );
    expect(regions).toContainEqual({ value: 'north' });
  });

  it.each([{ $ne: null }, { $gt: '' }, [{ $where: 'true' }], { $regex: '.' }])(
    'refuses an operator as a value: %j',
    async (region) => {
      const { status, body } = await execute(await stored(byRegion), { context: { region } });
      expect([status, body.code]).toEqual([422, 'CONTEXT_INVALID']);
      expect(body.errors[0].pointer).toBe('/context/region');
    },
  );

  it('applies the operators beside $regex', async () => {
    const filter = { region: { $regex: ':pattern', $options: 'i', $ne: 'south' } };
    const found = await run({ find: 'sales', filter, projection: { region: 1 } }, { pattern: 'TH$' });
    expect(found).toEqual([{ _id: 1, region: 'north' }]);
  });

  it('binds a value that looks like a field path as text', async () => {
    expect(await run(byRegion, { region: '$secret' })).toEqual([{ _id: 3, amount: 30 }]);
  });

  it.each<[string, object]>([
    ['code', { find: 'sales', filter: { $where: 'sleep(100)' } }],
    ['a stage that writes', { aggregate: 'sales', pipeline: [{ $out: 'copy' }] }],
    ['a command of the server', { dropDatabase: 1 }],
    ['a filter that the caller writes', { find: 'sales', filter: ':filter' }],
  ])('is not saved with %s', async (_name, query) => {
    const { status, body } = await store(query);
    expect([status, body.code]).toEqual([422, 'SQL_REJECTED']);
  });

  it('runs a write with the command in its text, if the key may write', async () => {
    const insert = await stored({
      insert: 'scratch',
      documents: [{ label: ':label', at: { $date: ':at' } }],
    });
    const context = { label: 'x', at: '2026-11-20T13:04:05.123Z' };
    expect(await api.ok(api.get(`/v1/queries/${insert}`))).toMatchObject({ config: { command: 'INSERT' } });
    const [{ insertId, affectedRows }] = (await api.ok(execute(insert, { context }))).data;
    expect([affectedRows, insertId]).toEqual([1, expect.stringMatching(/^[0-9a-f]{24}$/)]);
    expect(await run({ find: 'scratch', filter: { _id: { $oid: ':id' } } }, { id: insertId })).toEqual([
      { _id: insertId, ...context },
    ]);
    const { key } = await api.ok(api.post('/v1/keys', { name: 'reader', scopes: ['queries:execute'] }));
    const refused = await api.post('/v1/queries/execute', { queryId: insert, context }, { key });
    expect([refused.status, refused.body.code]).toEqual([403, 'SCOPE_DENIED']);
    const dry = await execute(insert, { context, options: { dryRun: true } });
    expect([dry.status, dry.body.code]).toEqual([422, 'OPTION_REFUSED']);
    const steps = [{ queryId: insert, context }];
    const transaction = await api.post('/v1/queries/transaction', { steps });
    expect([transaction.status, transaction.body.code]).toEqual([422, 'OPTION_REFUSED']);
    const remove = { delete: 'scratch', deletes: [{ q: {}, limit: 0 }] };
    expect((await store(remove, { command: 'SELECT' })).body.code).toBe('COMMAND_MISMATCH');
    expect(await run(remove)).toEqual([{ affectedRows: 1 }]);
  });

  it('answers in every format but Arrow', async () => {
    const queryId = await stored({ find: 'sales', sort: { _id: 1 }, projection: { region: 1, amount: 1 } });
    const text = async (accept: string) => (await execute(queryId, {}, { accept })).text;
    expect(await text('text/csv')).toBe(
      '_id,region,amount\r\n1,north,10.5\r\n2,south,20\r\n3,$secret,30\r\n',
    );
    const { url, key } = inject('hub');
    const headers = { 'x-service-api-key': key, accept: formats.xlsx.mediaType };
    const file = await fetch(`${url}/v1/queries/${queryId}/data`, { headers });
    const [[, rows] = []] = readXlsx(Buffer.from(await file.arrayBuffer()));
    expect(rows?.map((row) => row.map(([type, value]) => `${type} ${value}`))).toEqual([
      ['s _id', 's region', 's amount'],
      ['n 1', 's north', 'n 10.5'],
      ['n 2', 's south', 'n 20'],
      ['n 3', 's $secret', 'n 30'],
    ]);
    const arrow = await execute(queryId, {}, { accept: 'application/vnd.apache.arrow.stream' });
    expect([arrow.status, arrow.body.code]).toEqual([406, 'NOT_ACCEPTABLE']);
    expect((await text('application/x-ndjson')).split('\n')[0]).toBe(
      '{"_id":1,"region":"north","amount":10.5}',
    );
    expect(await api.ok(execute(queryId, { options: { maxRows: 1, meta: true } }))).toMatchObject({
      data: [{ _id: 1 }],
      truncated: true,
      meta: {
        rowCount: 1,
        columns: [
          { name: '_id', type: 'int' },
          { name: 'region', type: 'string' },
          { name: 'amount', type: 'double' },
        ],
      },
    });
  });

  it('writes no document of NDJSON in the bytes of the line that says that rows are missing', async () => {
    await client.db(database).collection('flags').insertOne({ truncated: true });
    const queryId = await stored({ find: 'flags', projection: { _id: 0, truncated: 1 } });
    const { text } = await execute(queryId, {}, { accept: 'application/x-ndjson' });
    expect(text).toBe('{"truncated": true}\n');
  });

  it('has a signature if the command names the fields', async () => {
    const signature = async (command: object) =>
      (await api.ok(api.get(`/v1/queries/${await stored(command)}?signature=1`))).signature;
    expect(await signature(byRegion)).toMatchObject({
      columns: [
        { name: '_id', nullable: true, jsonType: 'number|string|boolean|object|array' },
        { name: 'amount', nullable: true },
      ],
      variables: [{ key: 'region', list: false, nullable: true }],
    });
    expect(await signature({ count: 'sales' })).toMatchObject({ columns: [{ name: 'count' }] });
    const constants = { $project: { _id: false, none: null, blank: '', list: [], amount: 1 } };
    expect(await signature({ aggregate: 'sales', pipeline: [constants] })).toMatchObject({
      columns: [{ name: 'none' }, { name: 'blank' }, { name: 'list' }, { name: 'amount' }],
    });
    expect(await signature({ find: 'sales' })).toBeNull();
    expect(await signature({ find: 'sales', projection: { amount: { $slice: 1 } } })).toBeNull();
  });

  it('keeps the _id of a group without a key, in CSV and in the signature', async () => {
    for (const _id of [null, '', 0]) {
      const $group = { _id, n: { $sum: 1 } };
      const queryId = await stored({ aggregate: 'sales', pipeline: [{ $group }] });
      const { text } = await execute(queryId, {}, { accept: 'text/csv' });
      expect(text).toBe(`_id,n\r\n${_id === '' ? '""' : (_id ?? '')},3\r\n`);
      const { signature } = await api.ok(api.get(`/v1/queries/${queryId}?signature=1`));
      expect(signature.columns).toMatchObject([{ name: '_id' }, { name: 'n' }]);
    }
  });

  it('stores its settings, including authSource', async () => {
    const body = {
      connectionSettings: { ...connectionSettings(), user: 'reader', password: 'p', authSource: 'users' },
    };
    const made = await api.ok(api.post('/v1/sources', { hubId, label: 'other', engine: 'mongodb', ...body }));
    const kept = await api.ok(api.get(`/v1/sources/${made.sourceId}`));
    expect(kept.connectionSettings).toMatchObject({ user: 're********', authSource: 'users' });
  });
});

describe('the servers of a mongodb source', () => {
  const address = { host: 'a.db.example', port: 27_017, database: 'd', user: 'reader', password: 'secret' };
  const servers = {
    hosts: [{ host: 'b.db.example', port: 27_018 }],
    replicaSet: 'rs',
    readPreference: 'secondaryPreferred',
    authMechanism: 'SCRAM-SHA-1',
  };
  let hubId: string;
  const make = (settings: object, engine = 'mongodb') =>
    api.post('/v1/sources', { hubId, label: 's', engine, connectionSettings: { ...address, ...settings } });

  beforeAll(async () => {
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: 'servers' })));
  });

  it('are stored, changed, and removed with null', async () => {
    const { sourceId } = await api.ok(make(servers));
    const path = `/v1/sources/${sourceId}`;
    const shown = async () => (await api.ok(api.get(path))).connectionSettings;
    expect(await shown()).toMatchObject(servers);
    await api.ok(api.put(path, { connectionSettings: { readPreference: null, replicaSet: 'other' } }));
    const { readPreference, replicaSet } = await shown();
    expect([readPreference, replicaSet]).toEqual([undefined, 'other']);
    const put = (settings: object) => api.put(path, { connectionSettings: settings });
    const secrets = { user: 'reader', password: 'secret' };
    for (const moved of [{ hosts: [{ host: 'c.db.example', port: 1 }] }, { authMechanism: null }]) {
      const { status, body } = await put(moved);
      expect([status, body.errors[0].pointer]).toEqual([400, '/connectionSettings/user']);
      await api.ok(put({ ...moved, ...secrets }));
    }
    await api.ok(put({ hosts: null, srv: true, ...secrets }));
    expect(await shown()).toMatchObject({ srv: true });
    expect(await shown()).not.toHaveProperty('hosts');
  });

  it.each<[string, object, string]>([
    ['hosts', { hosts: servers.hosts, srv: true }, 'mongodb'],
    ['hosts/0/host', { hosts: [{ host: 'x@y,z', port: 1 }] }, 'mongodb'],
    ['authMechanism', { authMechanism: 'PLAIN', tls: { mode: 'require' } }, 'mongodb'],
    ['authMechanism', { authMechanism: 'MONGODB-AWS' }, 'mongodb'],
    ['replicaSet', { replicaSet: 'rs' }, 'postgres'],
  ])('are refused at %s if they do not fit: %j', async (name, settings, engine) => {
    const { status, body } = await make(settings, engine);
    expect([status, body.errors[0].pointer]).toEqual([400, `/connectionSettings/${name}`]);
  });
});

it('only a mongodb source may have no user', async () => {
  const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'users' }));
  const connectionSettings = { host: '127.0.0.1', port: 1, database: 'd', user: '', password: '' };
  const { status, body } = await api.post('/v1/sources', {
    hubId,
    label: 'x',
    engine: 'postgres',
    connectionSettings,
  });
  expect([status, body.errors[0].pointer]).toEqual([400, '/connectionSettings/user']);
});
