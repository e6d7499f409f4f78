import { mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ErrorCode } from '@datahub/service-kit/call/error';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Edge, type EdgeOptions, openEdge } from '../src/edge.ts';

const pipeline = (policies: string, own = '') => `
apiEndpoints: { all: { host: '*' } }
policies: [log, headers, terminate, expression, data-hub, stamp]
${own}
pipelines:
  hub:
    apiEndpoints: [all]
    policies:
${policies}
      - data-hub:
`;

const plugin = `exports.init = (context) => context.registerPolicy({
  name: 'stamp',
  schema: { $id: 'https://example/stamp.json', type: 'object', properties: { value: { type: 'string' } }, required: ['value'] },
  policy: ({ value }) => (request, response, next) => { response.setHeader('x-stamp', value); next(); },
});`;

let dir: string;
let path: string;
const lines: string[] = [];
const logger = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) });
const open: (() => void)[] = [];

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'datahub-edge-'));
  path = join(dir, 'gateway.config.yml');
  await writeFile(join(dir, 'stamp.cjs'), plugin);
});
afterAll(() => rm(dir, { recursive: true }));
afterEach(() => {
  for (const close of open.splice(0)) close();
  lines.length = 0;
});

/** Replaces the file at once, so that its reader never sees a part of it. */
async function replace(text: string): Promise<void> {
  await writeFile(`${path}.next`, text);
  await rename(`${path}.next`, path);
}

const statuses: Partial<Record<ErrorCode, number>> = { VALIDATION: 400, NOT_FOUND: 404 };
const answer: EdgeOptions['answer'] = ({ code }, _request, response) =>
  void response.writeHead(statuses[code] ?? 500).end(code);

/** The edge before a server that says what reached it. */
async function start(text: string, env: Record<string, string> = {}) {
  await writeFile(path, text);
  const edge: Edge = await openEdge({ configPath: path, logger, env, intervalMs: 20, answer });
  const server = createServer(
    edge.inFront(async (req, res) => {
      const chunks: Buffer[] = [];
      for await (const chunk of req) chunks.push(chunk as Buffer);
      if (req.url === '/slow') await new Promise((resolve) => setTimeout(resolve, 200));
      res.setHeader('content-type', 'application/json');
      res.end(JSON.stringify({ url: req.url, headers: req.headers, body: Buffer.concat(chunks).toString() }));
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  open.push(
    edge.close,
    () => void server.closeAllConnections(),
    () => void server.close(),
  );
  return { url: `http://127.0.0.1:${port}`, port };
}

/** The first line of the answer to a target that fetch would tidy up. */
function statusLine(port: number, target: string): Promise<string> {
  const socket = connect(port, '127.0.0.1', () => socket.write(`GET ${target} HTTP/1.1\r\nhost: a\r\n\r\n`));
  return new Promise((resolve) =>
    socket.once('data', (data) => {
      socket.destroy();
      resolve(String(data).split('\r\n', 1)[0] as string);
    }),
  );
}

describe('the edge', () => {
  it('hands a request on as it came', async () => {
    const { url } = await start(await readFile(new URL('../gateway.config.yml', import.meta.url), 'utf8'));
    const response = await fetch(`${url}/v1/hubs?a=1&a=%20`, { method: 'POST', body: '{"n":1.10}' });
    expect(await response.json()).toMatchObject({ url: '/v1/hubs?a=1&a=%20', body: '{"n":1.10}' });
    expect(response.headers.get('x-powered-by')).toBeNull();
  });

  it('runs the policies of its file in order', async () => {
    const { url } = await start(
      pipeline(
        `
      - headers: { action: { headersPrefix: 'x-', forwardHeaders: { path: 'req.path' } } }
      - terminate: { condition: { name: pathExact, path: /closed }, action: { statusCode: 403, message: no } }
      - stamp: { action: { value: '\${STAMP:-none}' } }`,
        'plugins: { stamp: { package: ./stamp.cjs } }',
      ),
      { STAMP: 'here' },
    );
    const response = await fetch(`${url}/open`);
    expect(response.headers.get('x-stamp')).toBe('here');
    expect(((await response.json()) as { headers: object }).headers).toMatchObject({ 'x-path': '/open' });
    expect((await fetch(`${url}/closed`)).status).toBe(403);
  });

  it('answers the failure of a policy, also of one that returns a promise, and goes on', async () => {
    await writeFile(
      join(dir, 'failing.cjs'),
      `exports.init = ({ registerPolicy }) => registerPolicy({ name: 'failing', policy: () => async (req, res, next) => {
        if (req.url === '/at-once') throw new Error('no');
        if (req.url === '/without-reason') return Promise.reject();
        await null;
        if (req.url === '/later') throw new Error('no');
        next();
        if (req.url === '/afterwards') throw new Error('no');
      } })`,
    );
    const { url, port } = await start(
      pipeline('      - failing:', 'plugins: { failing: { package: ./failing.cjs } }').replace(
        'stamp]',
        'failing]',
      ),
    );
    for (const [path, status] of Object.entries({
      'at-once': 500,
      'without-reason': 500,
      later: 500,
      afterwards: 200,
    }))
      expect([path, (await fetch(`${url}/${path}`)).status]).toEqual([path, status]);
    expect(await statusLine(port, 'http://[')).toContain('404');
    expect((await fetch(url)).status).toBe(200);
  });

  it('does what its page shows', async () => {
    const page = await readFile(new URL('../../../docs/edge.md', import.meta.url), 'utf8');
    const block = (language: string, at = 0) =>
      [...page.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 'gs'))][at]?.[1] as string;
    const closing = await start(block('yaml'));
    for (const target of ['/openapi.json', '/openapi.json?', '/%6fpenapi.json', 'http://any/openapi.json'])
      expect(await statusLine(closing.port, target)).toContain('404');
    for (const target of ['/v1/hubs', '/healthz', '/readyz'])
      expect(await statusLine(closing.port, target)).toContain('200');
    const marked = (await (await fetch(`${closing.url}/v1/hubs`)).json()) as { headers: object };
    expect(marked.headers).toMatchObject({ 'x-edge-path': '/v1/hubs' });
    await writeFile(join(dir, 'demand-token.cjs'), block('js'));
    const demanding = await start(block('yaml', 1), { PROXY_TOKEN: 'sixteen-letters-or-more' });
    expect((await fetch(demanding.url)).status).toBe(403);
    const headers = { 'x-proxy-token': 'sixteen-letters-or-more' };
    expect((await fetch(demanding.url, { headers })).status).toBe(200);
  });

  it('takes a policy that is added while requests come in, without failing one', async () => {
    const { url } = await start(pipeline(''));
    const statuses = new Set<number>();
    let stamped = 0;
    let running = true;
    const load = Array.from({ length: 8 }, async (_, i) => {
      while (running) {
        const response = await fetch(i === 0 ? `${url}/slow` : url);
        statuses.add(response.status);
        if (response.headers.get('x-stamp') === 'new') stamped++;
      }
    });
    await replace(
      pipeline("      - stamp: { action: { value: 'new' } }", 'plugins: { stamp: { package: ./stamp.cjs } }'),
    );
    await vi.waitFor(() => expect(stamped).toBeGreaterThan(50), { timeout: 60_000 });
    running = false;
    await Promise.all(load);
    expect([...statuses]).toEqual([200]);
  });

  it('takes a file that is swapped by a link, as a mounted ConfigMap is', async () => {
    const { url } = await start(pipeline(''));
    const next = join(dir, 'next.yml');
    await writeFile(next, pipeline('      - terminate: { action: { statusCode: 418, message: swapped } }'));
    await symlink(next, join(dir, 'link'));
    await rename(join(dir, 'link'), path);
    await vi.waitFor(async () => expect((await fetch(url)).status).toBe(418), { timeout: 60_000 });
    await rm(path);
  });

  it.each([
    ['no YAML', 'pipelines: [', 'not YAML'],
    ['a policy that is not declared', pipeline('      - cors: {}'), 'POLICY_NOT_DECLARED'],
    ['wrong settings', pipeline('      - terminate: { action: { statusCode: many } }'), 'statusCode'],
    ['nothing in it, as while it is written', '', 'must have'],
    ['an end that is cut off', "apiEndpoints: { all: { host: '*' } }\npolicies: [data-hub]", 'must have'],
    [
      'no way to the hub',
      pipeline('').replace('      - data-hub:', '      - log:'),
      'must end with data-hub',
    ],
    [
      'an endpoint without a pipeline',
      pipeline('').replace('{ all:', "{ idle: { host: 'a' }, all:"),
      'no pipeline serves the endpoint idle',
    ],
    ['a policy that is left out', pipeline('').replace('[log,', '[log, proxy,'), 'no policy proxy'],
    [
      'a condition that asks Passport',
      pipeline(
        '      - terminate: { condition: { name: anonymous }, action: { statusCode: 401, message: no } }',
      ),
      'no condition anonymous',
    ],
    [
      'a condition that would let requests pass before it',
      pipeline(`
      - terminate:
          condition: { name: json-schema, logErrors: false, schema: { $id: any, type: object } }
          action: { statusCode: 403, message: no }`),
      'run too late',
    ],
    [
      'an unknown condition within another',
      pipeline(`
      - terminate:
          condition: { name: allOf, conditions: [{ name: always }, { name: perhaps }] }
          action: { statusCode: 403, message: no }`),
      'no condition perhaps',
    ],
    ['a plugin that is not there', pipeline('', 'plugins: { gone: { package: ./gone.cjs } }'), 'gone'],
    ['an admin API', pipeline('', 'admin: { port: 1 }'), 'admin is not used here'],
    [
      'a variable that is not set',
      pipeline(`      - stamp: { action: { value: '\${NOT_SET}' } }`),
      'NOT_SET',
    ],
  ])('refuses to start with %s, and keeps what it has where it comes later', async (_, text, says) => {
    await expect(start(text)).rejects.toMatchObject({
      code: 'VALIDATION',
      message: expect.stringContaining(says),
    });
    const { url } = await start(pipeline(''));
    await replace(text);
    await vi.waitFor(() => expect(lines.join('')).toContain('edge.rejected'), { timeout: 60_000 });
    const errors = lines.map((line) => JSON.parse(line)).filter(({ level }) => level >= 50);
    expect(errors.map(({ event }) => event)).toEqual(['edge.rejected']);
    expect(errors[0].msg).toContain(says);
    expect((await fetch(url)).status).toBe(200);
  });

  it('has the gateway answer what it ends itself', async () => {
    const only = pipeline('').replace("host: '*'", "host: '*', paths: /v1/*");
    const { url, port } = await start(only);
    const response = await fetch(`${url}/elsewhere`);
    expect(response.status).toBe(404);
    expect(await response.text()).toBe('NOT_FOUND');
    const socket = connect(port, '127.0.0.1', () => socket.write('GET /v1/%zz HTTP/1.1\r\nhost: a\r\n\r\n'));
    const head = await new Promise<string>((resolve) => socket.once('data', (data) => resolve(String(data))));
    expect(head).toContain('400 Bad Request');
    expect(head).toContain('VALIDATION');
    socket.destroy();
  });

  it('never logs the query string of a request, and passes it on', async () => {
    const all = `\${req.url} \${req.originalUrl} \${JSON.stringify(req.query)} \${req._parsedUrl && req._parsedUrl.search} \${req.path} \${egContext.req.url}`;
    const { url } = await start(pipeline(`      - log: { action: { message: ${JSON.stringify(all)} } }`));
    const response = await fetch(`${url}/v1/queries/q/data?region=s%65cret-region&n=4711`);
    expect(((await response.json()) as { url: string }).url).toBe(
      '/v1/queries/q/data?region=s%65cret-region&n=4711',
    );
    const written = lines.join('');
    expect(written).toContain('/v1/queries/q/data /v1/queries/q/data');
    for (const value of ['region', 's%65cret', '4711']) expect(written).not.toContain(value);
  });

  it('never logs the secrets of a request, however its log is asked for them', async () => {
    const all = `\${JSON.stringify(req.headers)} \${req.rawHeaders} \${res.req.headers.cookie}`;
    const token = `\${req.headers.authorization.split(' ')[1]} \${req.body} \${req.get('cookie')}`;
    const reversed = `\${Object.values(req.headersDistinct).join().split('').reverse().join('')}`;
    const fails = `\${JSON.parse(req.headers['x-service-api-key'])}`;
    const log = (message: string) => `      - log: { action: { message: ${JSON.stringify(message)} } }`;
    const { url } = await start(pipeline([log(all), log(token), log(reversed), log(fails)].join('\n')));
    const headers = {
      'x-service-api-key': 'canary-in-the-key',
      authorization: 'Bearer canary-in-the-token',
      cookie: 'session="canary-in-the-cookie"',
      'x-shown': 'not a secret',
    };
    const response = await fetch(`${url}/v1/hubs`, { method: 'POST', headers, body: 'canary-in-the-body' });
    expect(await response.json()).toMatchObject({ headers, body: 'canary-in-the-body' });
    const written = lines.join('');
    expect(written).toContain('not a secret');
    expect(written).toContain('log policy failed');
    expect(written).not.toContain('canary');
    expect(written).not.toContain('yranac');
  });

  it('logs lines of bounded length', async () => {
    const message = JSON.stringify(`\${req.path}`);
    const { url } = await start(pipeline(`      - log: { action: { message: ${message} } }`));
    await fetch(`${url}/${'h'.repeat(12_000)}`, { headers: { authorization: 'h', cookie: 'h' } });
    expect(lines.find((line) => line.includes('/hhh'))?.length).toBeLessThan(9_000);
  });

  it('ends with the last text of its file, though an earlier one takes long to load', async () => {
    const slow = `globalThis.slowIsLoading = true;
      await new Promise((resolve) => setTimeout(resolve, 300));
      export const init = ({ registerPolicy }) => registerPolicy({ name: 'slow', schema: { $id: 'https://example/slow.json' },
        policy: () => (request, response, next) => { response.setHeader('x-stamp', 'slow'); next(); } });`;
    await writeFile(join(dir, 'slow.mjs'), slow);
    const { url } = await start(pipeline(''));
    const plugins = (name: string) =>
      `plugins: { ${name}: { package: ./${name}.${name === 'slow' ? 'mjs' : 'cjs'} } }`;
    await replace(pipeline('      - slow: {}', plugins('slow')).replace('stamp]', 'slow]'));
    await vi.waitFor(() => expect(globalThis).toHaveProperty('slowIsLoading'), { timeout: 60_000 });
    await replace(pipeline("      - stamp: { action: { value: 'last' } }", plugins('stamp')));
    await vi.waitFor(() => expect(lines.filter((line) => line.includes('edge.reloaded'))).toHaveLength(2), {
      timeout: 60_000,
    });
    expect((await fetch(url)).headers.get('x-stamp')).toBe('last');
  });
});
