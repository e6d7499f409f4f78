/** Stored queries with steps, which run in one transaction. */

import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { api, createSource, engines, execute } from '../support/hub.ts';
import { openPlace } from '../support/hub-files.ts';

const { datahub, copyExample, withTable } = await openPlace();
const sqlEngines = engines.filter((engine) => engine !== 'mongodb');

describe.each(sqlEngines)('a stored transaction at %s', (engine) => {
  const table = `stored_${randomBytes(4).toString('hex')}`;
  let hubId: string;
  let sourceId: string;
  let queryId: string;
  let readId: string;
  const ddl = (query: string) =>
    execute({ hubId, sourceId, query, command: query.split(' ', 1)[0] as string });
  const post = (body: object) => api.post('/v1/queries', { hubId, sourceId, label: 'move', ...body });
  const run = (context: object, call: object = {}, options: object = {}) =>
    api.post('/v1/queries/execute', { queryId, context, options }, call);
  const rows = async () => (await api.ok(api.post('/v1/queries/execute', { queryId: readId }))).data;
  const createKey = async (body: object): Promise<string> =>
    (await api.ok(api.post('/v1/keys', { name: 'moves', ...body }))).key;

  const context = [
    { key: 'giver', type: 'integer', required: true },
    { key: 'taker', type: 'integer', required: true },
    { key: 'amount', type: 'integer', required: true },
  ];
  const steps = [
    {
      query: `UPDATE ${table} SET amount = amount - :amount WHERE id = :giver`,
      command: 'UPDATE',
      options: { expectRows: 1 },
    },
    { query: `SELECT note FROM ${table} WHERE id = :giver`, as: 'from' },
    {
      query: `UPDATE ${table} SET amount = amount + :amount, note = :note WHERE id = :taker`,
      command: 'UPDATE',
      options: { maxAffected: 1, expectRows: 1 },
      references: { note: { from: 'from', pointer: '/data/0/note' } },
    },
    { query: `SELECT id, amount FROM ${table} WHERE id IN (:giver, :taker) ORDER BY id` },
  ];
  const transaction = { steps, isolation: 'serializable', retry: true };

  beforeAll(async () => {
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: `${engine} steps`, path: table })));
    sourceId = await createSource(hubId, engine);
    await ddl(`CREATE TABLE ${table} (id INT NOT NULL PRIMARY KEY, amount INT NOT NULL, note VARCHAR(200))`);
    await ddl(`INSERT INTO ${table} VALUES (1, 100, 'a'), (2, 100, 'b')`);
    const read = await api.ok(post({ query: `SELECT id, amount, note FROM ${table} ORDER BY id` }));
    readId = read.config.query.queryId;
    const created = await api.ok(post({ ...transaction, context, path: 'move' }));
    queryId = created.config.query.queryId;
    expect(created.config).toMatchObject({ ...transaction, command: 'TRANSACTION' });
  });
  afterAll(() => ddl(`DROP TABLE ${table}`));

  it('runs all steps with the values of one call, and answers with the rows of the last one', async () => {
    const moved = await api.ok(run({ giver: 1, taker: 2, amount: 30 }));
    expect(moved).toEqual({
      data: [
        { id: 1, amount: 70 },
        { id: 2, amount: 130 },
      ],
    });
    expect((await rows())[1].note).toBe('a');
    const csv = await run({ giver: 2, taker: 1, amount: 30 }, { headers: { accept: 'text/csv' } });
    expect(csv.text).toBe('id,amount\r\n1,100\r\n2,100\r\n');
    const tried = await api.ok(run({ giver: 1, taker: 2, amount: 99 }, {}, { dryRun: true, maxRows: 1 }));
    expect(tried).toEqual({ data: [{ id: 1, amount: 1 }], truncated: true });
    expect((await rows()).map(({ amount }: { amount: number }) => amount)).toEqual([100, 100]);
  });

  it('rolls back all steps if one fails, and names it', async () => {
    const before = await rows();
    const missing = await run({ giver: 1, taker: 3, amount: 30 });
    expect([missing.status, missing.body]).toMatchObject([409, { code: 'ROWS_UNEXPECTED', step: 2 }]);
    expect(await rows()).toEqual(before);
  });

  it('checks the values of all steps before the first one runs', async () => {
    const faulty = await run({ giver: 'x', amount: 1 });
    expect(faulty.status).toBe(422);
    expect(faulty.body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
      '/context/giver',
      '/context/taker',
    ]);
    const unknown = await run({ giver: 1, taker: 2, amount: 1, note: 'x' }, {}, { strict: true });
    expect(unknown.body.errors).toMatchObject([{ pointer: '/context/note' }]);
  });

  it('answers a repeat with the same Idempotency-Key without running again', async () => {
    const headers = { 'idempotency-key': randomBytes(8).toString('hex') };
    const first = await api.ok(run({ giver: 1, taker: 2, amount: 1 }, { headers }));
    expect(await api.ok(run({ giver: 1, taker: 2, amount: 1 }, { headers }))).toEqual(first);
    await api.ok(run({ giver: 2, taker: 1, amount: 1 }));
    expect((await rows())[0].amount).toBe(100);
  });

  it('is called by name by a key that reaches nothing else and pins a value', async () => {
    const limits = { queryIds: [queryId], context: { amount: 5 } };
    const key = await createKey({ scopes: ['queries:execute', 'queries:execute:write'], limits });
    const named = { hubId: table, path: 'move', context: { giver: 1, taker: 2, amount: 50 } };
    expect((await api.ok(api.post('/v1/queries/execute', named, { key }))).data[0].amount).toBe(95);
    expect((await api.post('/v1/queries/execute', { queryId: readId }, { key })).status).toBe(403);
    await api.ok(run({ giver: 2, taker: 1, amount: 5 }));
    const reader = await createKey({ scopes: ['queries:execute'], limits });
    const denied = await api.post('/v1/queries/execute', named, { key: reader });
    expect([denied.status, denied.body.code]).toEqual([403, 'SCOPE_DENIED']);
  });

  it('counts as one run of the query', async () => {
    const before = await api.ok(api.get(`/v1/queries/${queryId}/stats`));
    await api.ok(run({ giver: 1, taker: 2, amount: 0 }));
    const after = await api.ok(api.get(`/v1/queries/${queryId}/stats`));
    expect(after.sinceStart.count - before.sinceStart.count).toBe(1);
  });

  it('is described with the columns of the last step and the variables of all', async () => {
    const { signature } = await api.ok(api.get(`/v1/queries/${queryId}?signature=1`));
    expect(signature.columns.map(({ name }: { name: string }) => name)).toEqual(['id', 'amount']);
    const keys = signature.variables.map(({ key }: { key: string }) => key).sort();
    expect(keys).toEqual(['amount', 'giver', 'taker']);
  });

  it('is checked step by step, before it is saved and at its source', async () => {
    const check = async (query: string) =>
      (await api.ok(api.post('/v1/queries/check', { sourceId, steps: [...steps, { query }], context })))
        .problems;
    expect(await check('SELECT 1 AS one')).toEqual([]);
    expect(await check('SELECT a FROM no_such_table')).toMatchObject([
      { code: 'SQL_REJECTED', detail: expect.stringMatching(/^Step 4: .*no_such_table/) },
    ]);
  });

  const first = () => steps[0] as object;
  it.each<[name: string, body: () => object, pointer: RegExp | string]>([
    [
      'a step that runs outside of a transaction',
      () => ({ steps: [{ query: 'DROP TABLE x', command: 'DROP' }] }),
      '/steps/0/query',
    ],
    [
      'a reference to a later step',
      () => ({
        steps: [
          { ...first(), references: { amount: { from: 'x', pointer: '/data/0/a' } } },
          { query: 'SELECT 1', as: 'x' },
        ],
      }),
      '/steps/0/references/amount',
    ],
    [
      'a reference to no variable',
      () => ({
        steps: [
          { query: 'SELECT 1', as: 'x' },
          { query: 'SELECT 2', references: { y: { from: 'x', pointer: '/data/0/a' } } },
        ],
      }),
      '/steps/1/references/y',
    ],
    [
      'two steps of one name',
      () => ({
        steps: [
          { query: 'SELECT 1', as: 'x' },
          { query: 'SELECT 2', as: 'x' },
        ],
      }),
      '/steps/1/as',
    ],
    ['a text beside the steps', () => ({ steps: [first()], query: 'SELECT 1' }), '/query'],
    ['a command beside the steps', () => ({ steps: [first()], command: 'UPDATE' }), '/command'],
    ['a cache', () => ({ steps: [first()], cache: { maxAgeS: 5 } }), '/cache'],
    ['columns that are never null', () => ({ steps: [first()], notNull: ['id'] }), '/notNull'],
    ['no steps', () => ({ steps: [] }), '/steps'],
    ['an isolation without steps', () => ({ query: 'SELECT 1', isolation: 'serializable' }), '/isolation'],
    ['neither text nor steps', () => ({}), '/query'],
  ])('is refused when saved with %s', async (_, body, pointer) => {
    const { status, body: problem } = await post({ context, ...body() });
    expect([status, problem.errors?.map((one: { pointer: string }) => one.pointer)]).toEqual([
      400,
      [pointer],
    ]);
  });

  it('names the step whose text is refused when saved', async () => {
    const refused = await post({ steps: [first(), { query: 'SELEC 1' }] });
    expect([refused.status, refused.body]).toMatchObject([422, { step: 1 }]);
  });

  it('takes no records, cannot be a step or be read over GET, and refuses options of a single statement', async () => {
    const url = `/v1/queries/${queryId}`;
    const answers = await Promise.all([
      api.post(`${url}/rows`, '{"giver":1,"taker":2,"amount":1}\n', {
        headers: { 'content-type': 'application/x-ndjson' },
      }),
      api.post('/v1/queries/transaction', {
        steps: [{ queryId, context: { giver: 1, taker: 2, amount: 1 } }],
      }),
      api.get(`${url}/data?giver=1&taker=2&amount=1`),
      run({ giver: 1, taker: 2, amount: 1 }, {}, { maxAffected: 1 }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([422, 422, 405, 422]);
    expect((await rows())[0].amount).toBe(100);
  });

  it('has versions, and its texts change only with its steps', async () => {
    const url = `/v1/queries/${queryId}`;
    const text = await api.put(url, { config: { query: { query: 'SELECT 1' } } });
    expect([text.status, text.body.errors?.[0]?.pointer]).toEqual([400, '/config/query/query']);
    const changed = [{ query: 'SELECT 7 AS seven' }];
    await api.ok(api.put(url, { config: { steps: changed } }));
    const { config } = await api.ok(api.get(url));
    expect(config).toMatchObject({
      steps: changed,
      command: 'TRANSACTION',
      query: { query: 'SELECT 7 AS seven' },
    });
    expect(config).not.toHaveProperty('isolation');
    const versions = await api.ok(api.get(`${url}/versions`));
    expect(versions[1]).toMatchObject({ number: 1, ...transaction });
    await api.ok(api.post(`${url}/restore`, { version: 1 }));
    expect((await api.ok(api.get(url))).config).toMatchObject(transaction);
    // What a client sends back as it got it changes nothing.
    const same = (await api.ok(api.get(url))).config;
    await api.ok(api.put(url, { config: same }));
    expect((await api.ok(api.get(`${url}/versions`))).length).toBe(3);
    const plain = { steps: null, command: 'SELECT', query: { query: 'SELECT 1 AS one' } };
    await api.ok(api.put(url, { config: plain }));
    expect((await api.ok(run({}))).data).toEqual([{ one: 1 }]);
    await api.ok(api.post(`${url}/restore`, { version: 1 }));
  });
});

it.runIf(engines.includes('postgres'))('stored transactions are files', async () => {
  const { dir, table, path, run, env } = await copyExample('steps', 'postgres');
  await withTable('postgres', table);
  const file = join(dir, 'queries/orders/rename.sql');
  const source = /source: .*/.exec(await readFile(join(dir, 'queries/orders/by-region.sql'), 'utf8'))?.[0];
  const front = [
    'label: Rename',
    source,
    'context:',
    '  - key: id',
    '    type: integer',
    '    required: true',
    'steps:',
    '  - query: |-',
    `      SELECT product`,
    `      FROM ${table} WHERE id = :id`,
    '    as: old',
    `  - query: UPDATE ${table} SET product = upper(:product) WHERE id = :id RETURNING product`,
    '    command: UPDATE',
    '    options:',
    '      expectRows: 1',
    '    references:',
    '      product:',
    '        from: old',
    '        pointer: /data/0/product',
    'isolation: repeatable-read',
  ];
  const lines = ['-- ---', ...front.map((line) => `-- ${line}`), '-- ---', ''];
  await writeFile(file, lines.join('\n'));
  expect(await run('apply')).toMatchObject({ code: 0, stderr: '' });
  expect(await run('plan')).toMatchObject({ code: 0, stdout: 'No changes.\n' });
  expect(await run('check')).toMatchObject({ code: 0, stdout: '4 queries checked, 0 errors.\n' });
  expect(await run('export')).toMatchObject({ code: 0, stderr: '' });
  expect(await readFile(file, 'utf8')).toBe(lines.join('\n'));
  const renamed = await datahub.ok(['run', `${path}/orders/rename`, 'id:=1'], { env });
  expect(JSON.parse(renamed)).toEqual({ data: [{ product: 'TEA' }] });
  const types = await datahub.ok(['types', path], { env });
  expect(types).toContain('product: string');
  await writeFile(file, [...lines, 'SELECT 1', ''].join('\n'));
  expect((await run('plan')).stderr).toContain('has steps, so nothing may follow');
});

it.runIf(engines.includes('postgres'))('stored transactions are one tool of an agent', async () => {
  const suffix = randomBytes(4).toString('hex');
  const name = `steps-${suffix}`;
  const { hubId } = await api.ok(api.post('/v1/hubs', { label: name }));
  const sourceId = await createSource(hubId, 'postgres');
  const steps = [
    { query: 'INSERT INTO scratch (id, label) VALUES (:id, :label)', command: 'INSERT' },
    { query: 'DELETE FROM scratch WHERE id = :id RETURNING label', command: 'DELETE' },
  ];
  const context = [
    { key: 'id', type: 'integer', required: true },
    { key: 'label', type: 'string', required: true },
  ];
  const tool = { name, description: 'Two steps.' };
  const { config } = await api.ok(
    api.post('/v1/queries', { hubId, sourceId, label: 'q', steps, context, tool }),
  );
  const { key } = await api.ok(
    api.post('/v1/keys', {
      name: 'agent',
      scopes: ['queries:read', 'queries:execute', 'queries:execute:write'],
      limits: { queryIds: [config.query.queryId] },
    }),
  );
  const client = new Client({ name: 'test', version: '1' });
  const requestInit = { headers: { 'x-service-api-key': key } };
  await client.connect(
    new StreamableHTTPClientTransport(new URL('/mcp', inject('hub').url), { requestInit }),
  );
  const { tools } = await client.listTools();
  expect(tools).toMatchObject([
    { name, annotations: { readOnlyHint: false }, inputSchema: { required: ['id', 'label'] } },
  ]);
  const args = { id: Number.parseInt(suffix, 16) % 1_000_000_000, label: 'x' };
  const { structuredContent } = await client.callTool({ name, arguments: args });
  expect(structuredContent).toMatchObject({ data: [{ label: 'x' }] });
  await client.close();
});
