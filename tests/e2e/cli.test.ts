import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createDatahub, type Given } from '../support/datahub.ts';
import { api, createSource, engines } from '../support/hub.ts';
import { inherited } from '../support/inherited.ts';

const { url, key } = inject('hub');
const repository = fileURLToPath(new URL('../../packages/cli/bin/datahub.mjs', import.meta.url));
const suffix = randomBytes(4).toString('hex');
const hubPath = `cli-${suffix}`;
let sourceId: string;

const hubEnv = { DATAHUB_URL: url, DATAHUB_API_KEY: key };
const program = await createDatahub(hubEnv);
const { run: datahub, ok, dir, packed } = program;

beforeAll(async () => {
  const { hubId } = await api.ok(api.post('/v1/hubs', { label: `Cli ${suffix}`, path: hubPath }));
  sourceId = await createSource(hubId);
  const store = (path: string, query: string, change: object = {}) =>
    api.ok(api.post('/v1/queries', { hubId, sourceId, label: path, path, query, ...change }));
  await store('exact', 'SELECT :n AS n, :text AS text', {
    context: [
      { key: 'n', type: 'decimal' },
      { key: 'text', type: 'string', value: 'é' },
    ],
    tool: { name: `exact_${suffix}`, description: 'Returns a number.' },
  });
  await store('ids', 'SELECT id FROM sales WHERE id IN (:ids) ORDER BY id', {
    context: [{ key: 'ids', type: 'bigint[]' }],
  });
  const flag = engines[0] === 'postgres' ? 'true' : "JSON_EXTRACT('[true]', '$[0]')";
  await store('flags', `SELECT ${flag} AS truncated UNION ALL SELECT ${flag}`);
  await store(
    'long',
    'SELECT a.id FROM sales a, sales b, sales c, sales d, sales e, sales f, sales g, sales h, sales i',
  );
  await store(
    'broken',
    engines[0] === 'postgres'
      ? 'SELECT n, 1 / (n - 30000) AS x, repeat($$x$$, 100) AS t FROM generate_series(1, 40000) n'
      : "WITH RECURSIVE s AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM s WHERE n < 900) SELECT n, IF(n = 800, (SELECT 1 UNION SELECT 2), 1) AS x, repeat('x', 2000) AS t FROM s",
  );
  await store('gone', 'SELECT id FROM a_table_that_is_not_there');
});
afterAll(() => program.close());

describe('datahub login', () => {
  it('stores a key that only the user can read, and the other commands use it', async () => {
    const env = { HOME: join(dir, 'home') };
    const printed = await ok(['login', '--url', url], { env, stdin: `${key}\n` });
    expect(printed).not.toContain(key);
    const profile = join(dir, 'home/.config/datahub/profile.json');
    expect((await stat(profile)).mode & 0o777).toBe(0o600);
    expect(await ok(['whoami'], { env })).toContain(profile);
    const described = JSON.parse(await ok(['whoami', '--json'], { env, program: repository }));
    expect(described).toMatchObject({ url, scopes: ['*'], keyPlace: profile });
    expect(JSON.stringify(described)).not.toContain(key);
    // Another hub does not get this key.
    const elsewhere = { ...env, DATAHUB_URL: 'http://127.0.0.1:9' };
    expect(await datahub(['whoami'], { env: elsewhere })).toMatchObject({
      code: 7,
      stderr: expect.stringContaining('There is no key'),
    });
  });

  it('is not needed with DATAHUB_URL and DATAHUB_API_KEY, whatever data directory is here', async () => {
    const described = JSON.parse(await ok(['whoami', '--json'], { program: repository }));
    expect(described).toMatchObject({ url, scopes: ['*'], keyPlace: 'DATAHUB_API_KEY' });
    // The key of a data directory is for a hub on this machine.
    await writeFile(join(dir, 'api-key'), 'a-key-of-this-directory');
    const env = { HOME: join(dir, 'nobody'), DATAHUB_DATA_DIR: dir, DATAHUB_URL: 'http://hub.invalid' };
    for (const args of [['whoami'], ['run', 'a/b']])
      expect(await datahub(args, { env, program: repository })).toMatchObject({
        code: 7,
        stderr: expect.stringContaining('There is no key.'),
      });
    await rm(join(dir, 'api-key'));
  });

  it('stores no key that the hub rejects', async () => {
    const env = { HOME: join(dir, 'nobody') };
    const { code, stderr } = await datahub(['login', '--url', url], { env, stdin: 'wrong' });
    expect([code, stderr]).toEqual([7, expect.stringContaining('KEY_INVALID')]);
    await expect(stat(join(dir, 'nobody/.config/datahub/profile.json'))).rejects.toThrow('ENOENT');
  });
});

/** As nginx before 1.27.2 does, whatever its settings are. */
async function startProxyWithoutTrailers() {
  const server = createServer((asked, answer) => {
    const { method, headers } = asked;
    const forwarded = request(`${url}${asked.url}`, { method, headers }, (found) => {
      answer.writeHead(found.statusCode ?? 502, found.headers);
      found.pipe(answer);
    });
    asked.pipe(forwarded);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() };
}

/** Loses the answers of the hub: the connection ends, or a proxy answers before it. */
async function startLosingProxy(status?: number) {
  const server = createServer((asked, answer) => {
    const { method, headers } = asked;
    const forwarded = request(`${url}${asked.url}`, { method, headers }, (found) => {
      found.resume().on('end', () => {
        if (status === undefined) asked.socket.destroy();
        else answer.writeHead(status).end('<html>');
      });
    });
    asked.pipe(forwarded);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() };
}

describe('datahub run', () => {
  const exact = ['run', `${hubPath}/exact`, 'n:=12345678901234567890.10'];

  it('writes JSON, NDJSON and CSV with all digits', async () => {
    const digits = '12345678901234567890.10';
    expect(await ok(exact)).toContain(digits);
    expect(await ok([...exact, '--format', 'ndjson'])).toMatch(new RegExp(`^\\{.*${digits}.*\\}\n$`));
    expect(await ok([...exact, '--format', 'csv', 'text=x=y'])).toMatch(/^n,text\r?\n.*x=y/);
    const table = await ok([...exact, '--format', 'table']);
    expect(table.split('\n')[0]).toMatch(/^n +text/);
    expect(table).toContain(digits);
  });

  it('tells a row of a table from the line that says that rows are missing', async () => {
    const flags = ['run', `${hubPath}/flags`, '--format', 'table'];
    expect(await datahub(flags)).toMatchObject({ stdout: 'truncated\n─────────\ntrue\ntrue\n', stderr: '' });
    expect(await datahub([...flags, '--max-rows', '1'])).toMatchObject({
      stdout: 'truncated\n─────────\ntrue\n',
      stderr: 'There are more rows.\n',
    });
  });

  it('says that a limit cut the rows of a CSV', async () => {
    const ids = ['run', `${hubPath}/ids`, 'ids:=[1,2,3]', '--format', 'csv'];
    expect(await datahub(ids)).toEqual({ code: 0, stdout: 'id\r\n1\r\n2\r\n3\r\n', stderr: '' });
    const cut = { code: 0, stdout: 'id\r\n1\r\n2\r\n', stderr: 'There are more rows.\n' };
    expect(await datahub([...ids, '--max-rows', '2'])).toEqual(cut);
    const proxy = await startProxyWithoutTrailers();
    expect(
      await datahub([...ids, '--max-rows', '2'], { env: { ...hubEnv, DATAHUB_URL: proxy.url } }),
    ).toEqual(cut);
    proxy.close();
    // A long answer is compressed.
    const long = await datahub(['run', `${hubPath}/long`, '--format', 'csv', '--max-rows', '15000']);
    expect([long.stdout.split('\r\n').length, long.stderr]).toEqual([15_002, cut.stderr]);
    const limited = await api.ok(api.post('/v1/keys', { name: 'limited', limits: { maxRows: 2 } }));
    const env = { ...hubEnv, DATAHUB_API_KEY: limited.key };
    expect(await datahub(ids, { env })).toEqual(cut);
    await api.ok(api.delete(`/v1/keys/${limited.keyId}`));
  });

  it.each(['json', 'ndjson', 'csv', 'table'])('fails and says why if its %s breaks off', async (format) => {
    const { code, stdout, stderr } = await datahub(['run', `${hubPath}/broken`, '--format', format]);
    expect([code, stdout.length > 0]).toEqual([1, true]);
    expect(stderr).toMatch(/The rows broke off\..*SQL_REJECTED/);
    expect(stdout).not.toContain('\u001e');
  });

  it('warns of values for variables that the query does not have', async () => {
    const { code, stdout, stderr } = await datahub([...exact, 'txt=x', 'é=1', '--format', 'csv']);
    expect([code, stdout]).toEqual([0, 'n,text\r\n12345678901234567890.10,é\r\n']);
    expect(stderr).toBe('Warning: the query has no variables with these names: txt, %C3%A9\n');
  });

  it('refuses --json beside another format', async () => {
    expect((await datahub([...exact, '--json', '--format', 'json'])).code).toBe(0);
    for (const format of ['csv', 'ndjson', 'table'])
      expect(await datahub([...exact, '--json', '--format', format])).toMatchObject({
        ...{ code: 1, stdout: '' },
        stderr: `--json and --format ${format} exclude each other.\n`,
      });
  });

  it('takes lists, JSON and standard input', async () => {
    const ids = async (words: string[], stdin = '') =>
      JSON.parse(await ok(['run', `${hubPath}/ids`, ...words], { stdin })).data.map(Object.values);
    expect(await ids(['ids=1', 'ids=2'])).toEqual([[1], [2]]);
    expect(await ids(['ids:=[1,3]', '--max-rows', '1'])).toEqual([[1]]);
    expect(await ids(['--values', '-'], '{"ids": [2]}')).toEqual([[2]]);
  });

  it.each([undefined, 504, 200])('says that nobody knows what became of a lost call (%s)', async (status) => {
    const proxy = await startLosingProxy(status);
    const env = { ...hubEnv, DATAHUB_URL: proxy.url };
    await writeFile(join(dir, 'lost.ndjson'), '{"label": "ham", "context": "lunch"}\n');
    const changes = [['keys', 'create', '--name', 'lost'], ['train', 'dh.clfr.none', 'lost.ndjson'], exact];
    for (const command of status === 200 ? changes.slice(0, 2) : changes)
      expect(await datahub(command, { env })).toMatchObject({
        ...{ code: 8, stdout: '' },
        stderr: expect.stringContaining('it may have been made: look before you try again'),
      });
    expect((await datahub(['keys', 'list'], { env })).code).toBe(6);
    proxy.close();
  });

  it('tells problems apart by exit codes', async () => {
    const codeOf = async (args: string[], given?: Given) => (await datahub(args, given)).code;
    expect(await codeOf(['run', `${hubPath}/nothing`])).toBe(4);
    expect(await codeOf(['run', `${hubPath}/exact`, 'm=1'])).toBe(1);
    expect(await codeOf(['run', 'nonsense'])).toBe(1);
    expect(await codeOf(['run', 'a/b'], { env: { ...hubEnv, DATAHUB_API_KEY: 'dhk_wrong' } })).toBe(7);
    expect(await codeOf(['run', 'a/b'], { env: { ...hubEnv, DATAHUB_URL: 'http://127.0.0.1:9' } })).toBe(6);
    const failed = await datahub(['run', `${hubPath}/gone`, '--json']);
    expect(failed.code).not.toBe(0);
    expect(JSON.parse(failed.stdout)).toMatchObject({ code: 'SQL_REJECTED' });
  });
});

it('datahub train, predict and summarize work with files and standard input', async () => {
  const { id } = await api.ok(api.post('/v1/classifiers', { name: `Tickets ${suffix}` }));
  const lines = ['ham,lunch at noon', 'spam,win money now', 'ham,see you at lunch', 'spam,money for free'];
  await writeFile(join(dir, 'mail.csv'), `topic,body\n${lines.join('\n')}\n`);
  const columns = ['--text', 'body', '--label', 'topic'];
  const trained = await ok(['train', `Tickets ${suffix}`, 'mail.csv', ...columns, '--json']);
  expect(JSON.parse(trained)).toMatchObject({ trained: 4, skipped: 0 });
  await writeFile(join(dir, 'more.ndjson'), '{"label": "ham", "context": "lunch"}\n{"label": "ham"}\n');
  const partly = await datahub(['train', id, 'more.ndjson']);
  expect(partly).toMatchObject({ code: 1, stderr: expect.stringContaining('more.ndjson:2: ') });
  await mkdir(join(dir, 'none.csv'));
  const unreadable = await datahub(['train', id, 'none.csv']);
  expect(unreadable).toMatchObject({ code: 1, stderr: expect.stringContaining('EISDIR') });
  const stdin = 'free money\nlunch?\n';
  const predicted = JSON.parse(await ok(['predict', id], { stdin }));
  expect(predicted.map(({ label }: { label: string }) => label)).toEqual(['spam', 'ham']);
  await writeFile(join(dir, 'text.txt'), 'The parcel is late. The parcel was sent on Monday. Cats sleep.');
  expect(await ok(['summarize', 'text.txt', '--sentences', '1'])).toMatch(/parcel/);
  await api.delete(`/v1/classifiers/${id}`);
});

it('datahub keys creates, lists, counts, rotates and revokes keys', async () => {
  const { keyId } = JSON.parse(await ok(['keys', 'create', '--name', 'cli', '--scopes', 'hubs:read']));
  const limits = ['--limits', '{"context": {"tenant": 1.10}, "maxRows": 5}'];
  const limited = JSON.parse(
    await ok(['keys', 'create', '--name', 'limited', '--scopes', 'queries:execute', ...limits]),
  );
  expect(limited.limits).toMatchObject({ context: { tenant: 1.1 }, maxRows: 5 });
  await ok(['keys', 'revoke', limited.keyId]);
  expect(JSON.parse(await ok(['keys', 'list'])).map((one: { keyId: string }) => one.keyId)).toContain(keyId);
  expect(JSON.parse(await ok(['keys', 'usage', keyId]))).toMatchObject({
    keyId,
    count: 0,
    users: 0,
    days: [],
  });
  const rotated = JSON.parse(await ok(['keys', 'rotate', keyId]));
  await ok(['keys', 'revoke', rotated.keyId]);
  await ok(['keys', 'revoke', keyId]);
  const account = await datahub(['keys', 'create', '--name', 'x', '--new-account']);
  expect(account).toMatchObject({ code: 1, stderr: expect.stringContaining('for operators') });
});

it.each(['auto', 'legacy'] as const)('datahub mcp serves the tools of the hub (%s)', async (mode) => {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
  const env = { ...inherited, HOME: dir, ...hubEnv };
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [packed, 'mcp'], env }));
  try {
    expect(client.getNegotiatedProtocolVersion()).toBe(mode === 'auto' ? '2026-07-28' : '2025-11-25');
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name).filter((name) => /^(exact_|search_tools)/.test(name))).not.toEqual(
      [],
    );
    const name = tools.length === 3 && tools.some((one) => one.name === 'run_tool') ? 'run_tool' : undefined;
    const inner = { n: 1.5, text: 'over stdio' };
    const result = await client.callTool({
      name: name ?? `exact_${suffix}`,
      arguments: name === undefined ? inner : { name: `exact_${suffix}`, arguments: inner },
    });
    expect(JSON.stringify(result.content)).toContain('over stdio');
  } finally {
    await client.close();
  }
});

it('the packed package is one program without dependencies', async () => {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const env = { ...process.env, HOME: dir, npm_config_update_notifier: 'false' };
  const run = promisify(execFile);
  const pack = ['run', 'pack', '-w', 'packages/cli', '--', '--pack-destination', dir];
  await run('npm', pack, { cwd: root, env });
  const options = ['--yes', '--offline', '--cache', join(dir, 'npm')];
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  const packed = `./datahub-cli-${version}.tgz`;
  const { stdout } = await run('npx', [...options, packed, '--help'], { cwd: dir, env });
  expect(stdout).toBe(await ok(['--help']));

  // The configuration for agents starts it as the page says.
  const page = await readFile(join(root, 'docs/mcp.md'), 'utf8');
  const [, block = ''] = /```json\n([^`]*"command"[^`]*)```/.exec(page) ?? [];
  const server = JSON.parse(block.replaceAll('/path/to', dir)).mcpServers['data-hub'];
  const forNpm = { npm_config_offline: 'true', npm_config_cache: join(dir, 'npm'), HOME: dir };
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(new StdioClientTransport({ ...server, env: { ...inherited, ...forNpm, ...hubEnv } }));
  expect((await client.listTools()).tools).not.toEqual([]);
  await client.close();
});

it('the repository runs the same commands', async () => {
  const help = await ok(['--help'], { program: repository });
  expect(help).toBe(await ok(['--help']));
  expect(await ok(['sealing-keys'], { program: repository })).toContain('DATAHUB_SEALING_P');
  expect(await datahub(['backup', 'x'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('operators'),
  });
});
