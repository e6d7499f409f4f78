import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { parseExact } from '@datahub/contract/exact-json';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { arrowEnv, canReadArrow } from '../../tools/arrow-readers.ts';
import { api, createSource, engines } from '../support/hub.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);
const hasPython = await run('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 11))']).then(
  () => true,
  () => false,
);
let dir: string;
let hubId: string;

const datahub = (...args: string[]) => {
  const { url: DATAHUB_URL, key: DATAHUB_API_KEY } = inject('hub');
  const env = { ...process.env, DATAHUB_URL, DATAHUB_API_KEY, DATAHUB_DATA_DIR: dir };
  return run(process.execPath, [join(root, 'services/hub/src/cli.ts'), ...args], { env });
};

beforeAll(async () => {
  await mkdir(join(root, '.cache'), { recursive: true });
  dir = await mkdtemp(join(root, '.cache/types-'));
  ({ hubId } = await api.ok(api.post('/v1/hubs', { label: `typed ${dir.slice(-6)}` })));
  const sourceId = await createSource(hubId);
  const store = (label: string, query: string, change: object = {}) =>
    api.ok(api.post('/v1/queries', { hubId, sourceId, label, query, ...change }));
  await store(
    'By region',
    'SELECT id, region FROM sales WHERE region = :region AND id IN (:ids) ORDER BY id',
    {
      context: [
        { key: 'region', type: 'string', required: true },
        { key: 'ids', type: 'bigint[]', value: [1, 2] },
      ],
    },
  );
  await store('In region', 'SELECT id FROM sales WHERE region = :region', {
    context: [{ key: 'region', type: 'string' }],
  });
  await store('all', 'SELECT id FROM sales ORDER BY id');
  await store('*/ throw 1; /*', 'SELECT id FROM sales WHERE id = :id', {
    context: [{ key: 'id', type: 'integer', enum: [1, 2] }],
  });
  await store('add', 'INSERT INTO scratch (id, label) VALUES (:id, :label)', {
    command: 'INSERT',
    context: [
      { key: 'id', type: 'integer' },
      { key: 'label', type: 'string' },
    ],
  });
  await store('Amounts', 'SELECT id, amount FROM sales WHERE amount > :least ORDER BY id', {
    context: [{ key: 'least', type: 'decimal' }],
  });
  await store('Sales from', 'SELECT id FROM sales WHERE id >= :from ORDER BY id', {
    context: [{ key: 'from', type: 'integer', required: true }],
  });
  await store('Large', 'SELECT id FROM sales WHERE id + 9007199254740990 = :number', {
    context: [{ key: 'number', type: 'bigint', enum: parseExact('[9007199254740993]') }],
  });
  await store(
    'Breaks off',
    engines[0] === 'postgres'
      ? 'SELECT n, 1 / (n - 30000) AS x, repeat($$x$$, 100) AS t FROM generate_series(1, 40000) n'
      : "WITH RECURSIVE s AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM s WHERE n < 900) SELECT n, IF(n = 800, (SELECT 1 UNION SELECT 2), 1) AS x, repeat('x', 2000) AS t FROM s",
  );
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const program = `
import { createClient } from '@datahub/client';
import { add, all, byRegion, inRegion, large, throw1 } from './hub.ts';

const client = createClient({ url: 'HUB_URL', key: 'HUB_KEY' });
const north = await client.execute(byRegion, { region: 'north', ids: [1, 2n, '3'] });
await client.data(byRegion, { region: 'north' }, { maxRows: 1 });
for await (const { id } of client.rows(all)) { if (id === null) break; }
await client.execute(throw1, { id: 1 });
const count: number | string | undefined = (await client.execute(add, { id: 5, label: null })).data[0]?.affectedRows;
const [third] = (await client.execute(large, { number: 9007199254740993n })).data;
process.stdout.write(JSON.stringify({ north: north.data.length, count, third }));

export async function wrong() {
  // @ts-expect-error a required variable is missing
  await client.execute(byRegion, { ids: [1] });
  // @ts-expect-error no values at all
  await client.execute(byRegion);
  // @ts-expect-error a wrong name
  await client.execute(inRegion, { region: 'north', regions: 'north' });
  // @ts-expect-error a wrong name in a query without variables
  await client.execute(all, { region: 'north' });
  // @ts-expect-error a wrong type
  await client.execute(byRegion, { region: 7 });
  // @ts-expect-error a wrong type in a list
  await client.rows(byRegion, { region: 'north', ids: [true] });
  // @ts-expect-error null for a variable that does not accept it
  await client.data(byRegion, { region: null });
  // @ts-expect-error a value that the query does not allow
  await client.execute(throw1, { id: 3 });
  // @ts-expect-error the number that a double makes of it
  await client.execute(large, { number: 9007199254740992n });
  // @ts-expect-error a wrong column
  (await client.execute(all)).data[0]?.amount;
  // @ts-expect-error a wrong option
  await client.execute(all, {}, { maxrows: 1 });
}
`;

it('datahub types writes a module that compiles only with the right names and types, and runs', async () => {
  const { stdout } = await datahub('types', hubId);
  expect((await datahub('types', hubId)).stdout).toBe(stdout);
  const { url, key } = inject('hub');
  await writeFile(join(dir, 'hub.ts'), stdout);
  await writeFile(join(dir, 'main.ts'), program.replace('HUB_URL', url).replace('HUB_KEY', key));
  const config = {
    extends: join(root, 'tsconfig.base.json'),
    compilerOptions: {
      lib: ['es2024', 'dom'],
      types: ['node'],
      skipLibCheck: false,
      exactOptionalPropertyTypes: true,
    },
    include: [dir],
  };
  await writeFile(join(dir, 'tsconfig.json'), JSON.stringify(config));
  const compiled = await run(process.execPath, [join(root, 'node_modules/.bin/tsc'), '-p', dir], {
    cwd: root,
  }).catch((err) => err);
  expect([compiled.stdout, compiled.stderr]).toEqual(['', '']);
  const ran = await run(process.execPath, [join(dir, 'main.ts')]);
  expect(JSON.parse(ran.stdout)).toMatchObject({ count: 1, third: { id: 3 } });
});

const frameProgram = `
from decimal import Decimal
from hub import Hub, TruncatedError, amounts, frame_all, frame_amounts, frame_breaks_off

hub = Hub("HUB_URL", "HUB_KEY")
table = frame_amounts(hub, least="0.01")
print([str(field.type) for field in table.schema])
exact = [Decimal(row["amount"]) for row in amounts(hub, least="0.01")]
print([row["amount"] for row in table.to_pylist()] == exact)
limited = Hub("HUB_URL", "LIMITED_KEY")
try:
    frame_all(limited)
except TruncatedError as err:
    print(err)
print(limited.frame("ALL", {}, allow_truncated=True).num_rows)
try:
    frame_breaks_off(hub)
except Exception:
    print("broke off")
`;

const pythonProgram = `
from decimal import Decimal
from http.client import IncompleteRead
from hub import Hub, ProblemError, TruncatedError, add, all, amounts, by_region, in_region, iter_all, iter_breaks_off, large, sales_from

hub = Hub("HUB_URL", "HUB_KEY")
print(sales_from(hub, **{"from": 2})[0])
print(by_region(hub, region="south", ids=[1, "2"]))
print([row["id"] for row in iter_all(hub)])
print(add(hub, id=6, label=None)[0]["affectedRows"])
print(large(hub, number=9007199254740993))
print([row["amount"] for row in amounts(hub, least=Decimal("0.01"))])
try:
    in_region(hub)
except ProblemError as err:
    print(err.status, err.code, err)
for read in (all, iter_all):
    try:
        list(read(Hub("HUB_URL", "LIMITED_KEY")))
    except TruncatedError as err:
        print("truncated")
seen = 0
try:
    for row in iter_breaks_off(hub):
        seen += 1
except (IncompleteRead, OSError):
    print(seen > 0)
`;

it.runIf(hasPython)('datahub types --python writes a module that Python runs', async () => {
  const { stdout } = await datahub('types', hubId, '--python');
  expect((await datahub('types', hubId, '--python')).stdout).toBe(stdout);
  const { url, key } = inject('hub');
  const limited = await api.ok(api.post('/v1/keys', { name: 'limited', limits: { maxRows: 1 } }));
  await writeFile(join(dir, 'hub.py'), stdout);
  const code = pythonProgram
    .replace('LIMITED_KEY', limited.key)
    .replace('HUB_KEY', key)
    .replaceAll('HUB_URL', url);
  await writeFile(join(dir, 'main.py'), code);
  const env = { ...process.env, PYTHONDONTWRITEBYTECODE: '1', PYTHONIOENCODING: 'utf-8' };
  const ran = await run('python3', [join(dir, 'main.py')], { env, timeout: 60_000 });
  expect(ran.stdout.trim().split('\n')).toEqual([
    "{'id': 2}",
    "[{'id': 2, 'region': 'south'}]",
    '[1, 2, 3]',
    '1',
    "[{'id': 3}]",
    "['1234567890123456.78', Decimal('10.50')]",
    '422 CONTEXT_INVALID /context/region is missing.',
    'truncated',
    'truncated',
    'True',
  ]);
});

it('datahub types finds a hub by its label, and explains failures', async () => {
  const { label } = await api.ok(api.get(`/v1/hubs/${hubId}`));
  const failure = (...args: string[]) =>
    datahub(...args).then(
      () => '',
      ({ stderr }) => stderr as string,
    );
  expect((await datahub('types', label)).stdout).toContain(hubId);
  expect(await failure('types', 'no such hub')).toContain('No hub has the label "no such hub"');
  expect(await failure('types', 'dh.hub.aaaaaaaaaaaaaaaaaaaaaaaa')).toContain('The hub rejected the command');
});

it.runIf(hasPython && canReadArrow())('a Python module makes data frames', async () => {
  const { stdout } = await datahub('types', hubId, '--python');
  const { url, key } = inject('hub');
  const limited = await api.ok(api.post('/v1/keys', { name: 'limited', limits: { maxRows: 1 } }));
  const all = /def all\(.*\n.*\n {4}return hub.execute\("(.*?)"/.exec(stdout)?.[1] ?? '';
  await writeFile(join(dir, 'hub.py'), stdout);
  const code = frameProgram
    .replace('LIMITED_KEY', limited.key)
    .replace('HUB_KEY', key)
    .replace('ALL', all)
    .replaceAll('HUB_URL', url);
  await writeFile(join(dir, 'frames.py'), code);
  const env = { ...arrowEnv(process.env), PYTHONDONTWRITEBYTECODE: '1', PYTHONIOENCODING: 'utf-8' };
  const ran = await run('python3', [join(dir, 'frames.py')], { env, timeout: 60_000 });
  expect(ran.stdout.trim().split('\n')).toEqual([
    "['int32', 'decimal128(18, 2)']",
    'True',
    `${all} has more than 1 rows.`,
    '1',
    'broke off',
  ]);
});
