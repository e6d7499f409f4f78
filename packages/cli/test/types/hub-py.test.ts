import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toPython } from '../../src/types/python-module.ts';

const run = promisify(execFile);
const hasPython = await run('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 11))']).then(
  () => true,
  () => false,
);

/** By the first part of the path. */
const answers: Record<string, (response: ServerResponse) => void> = {
  redirect: (response) => response.writeHead(307, { location: '/elsewhere' }).end(),
  chunked: (response) => response.write('{"id":1}\n', () => response.destroy()),
  counted: (response) =>
    response.writeHead(200, { 'content-length': 100 }).write('{"id":1}\n', () => response.destroy()),
  row: (response) => response.end('{"truncated": true}\n\x1e{}\n'),
  cut: (response) => response.end('{"truncated": true}\n{"truncated":true}\n\x1e{"truncated":true}\n'),
  further: (response) =>
    response.end('{"id":1}\n{"truncated":true}\n\x1e{"truncated":true,"rows":1,"moreResults":true}\n'),
  procedure: (response) => response.end('{"data":[{"id":1}],"truncated":true,"moreResults":true}'),
  limited: (response) => response.end('{"data":[{"id":1}],"truncated":true}'),
  results: (response) =>
    response.end('{"results":[{"columns":[],"rows":[{"id":1}]},{"columns":[],"rows":[{"sum":1.50}]}]}'),
  completed: (response) => response.end('{"id":1}\n'),
  broken: (response) => response.end('{"data":[{"id":'),
  told: (response) => response.end('{"id":1}\n{"i\x1e{"problem":{"status":422}}\n'),
  proxy: (response) => response.writeHead(502).end('<html>'),
};

describe.runIf(hasPython)('the library of a Python module (needs Python 3.11)', () => {
  const paths: string[] = [];
  const bodies: string[] = [];
  let server: Server;
  let dir: string;

  beforeAll(async () => {
    server = createServer((request, response) => {
      const { url = '' } = request;
      paths.push(url);
      // A connection that is closed with unread bytes is reset.
      text(request).then((body) => {
        bodies.push(body);
        answers[url.split('/')[1] ?? '']?.(response);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    dir = await mkdtemp(join(tmpdir(), 'datahub-python-'));
    await writeFile(join(dir, 'hub.py'), toPython('h', []));
  });
  afterAll(async () => {
    server.closeAllConnections();
    server.close();
    await rm(dir, { recursive: true, force: true });
  });

  const port = () => (server.address() as AddressInfo).port;
  /** The rows that came, and the error after them. */
  const call = async (
    place: string,
    method: string,
    { query = 'q', values = '{}' } = {},
  ): Promise<string> => {
    const code = `
from decimal import Decimal
from hub import Hub
seen = []
try:
    seen.extend(Hub("http://127.0.0.1:${port()}/${place}", "k").${method}("${query}", ${values}))
except Exception as err:
    print(seen, type(err).__name__, getattr(err, "status", None))
else:
    print(seen)
`;
    await writeFile(join(dir, 'main.py'), code);
    const env = { ...process.env, PYTHONDONTWRITEBYTECODE: '1', no_proxy: '*' };
    return (await run('python3', [join(dir, 'main.py')], { env, timeout: 60_000 })).stdout.trim();
  };

  it('raises an error for rows that break off between two lines', async () => {
    expect(await call('chunked', 'rows')).toBe("[{'id': 1}] IncompleteRead None");
    for (const cut of ['counted', 'completed', 'told'])
      expect(await call(cut, 'rows')).toBe("[{'id': 1}] IncompleteRead None");
    for (const cut of ['counted', 'broken'])
      expect(await call(cut, 'execute')).toBe('[] IncompleteRead None');
  });

  it('names a query by its id, or by paths', async () => {
    bodies.length = 0;
    for (const query of ['dh.q.1', 'shop/orders/by-region']) await call('row', 'rows', { query });
    expect(bodies.map((body) => JSON.parse(body))).toEqual([
      { queryId: 'dh.q.1', context: {}, options: { ending: true } },
      { hubId: 'shop', path: 'orders/by-region', context: {}, options: { ending: true } },
    ]);
  });

  it('sends decimals as numbers with their digits, wherever they are', async () => {
    bodies.length = 0;
    const values = '{"a": Decimal("1.50"), "doc": {"n": [Decimal("12345678901234567890.1"), 1.5, "1.5"]}}';
    await call('row', 'rows', { values });
    expect(bodies[0]).toContain('"context": {"a": 1.50, "doc": {"n": [12345678901234567890.1, 1.5, "1.5"]}}');
    expect(await call('row', 'rows', { values: '{"a": Decimal("NaN")}' })).toBe('[] ValueError None');
  });

  it('tells a row from the line that says that rows are missing', async () => {
    expect(await call('row', 'rows')).toBe("[{'truncated': True}]");
    expect(await call('cut', 'rows')).toBe("[{'truncated': True}] TruncatedError None");
  });

  it('returns the first result of a procedure, or all, and tells further results from a row limit', async () => {
    expect(await call('procedure', 'execute')).toBe("[{'id': 1}]");
    expect(await call('further', 'rows')).toBe("[{'id': 1}]");
    expect(await call('limited', 'execute')).toBe('[] TruncatedError None');
    bodies.length = 0;
    expect(await call('results', 'results')).toBe("[[{'id': 1}], [{'sum': Decimal('1.50')}]]");
    expect(bodies[0]).toContain('"options": {"results": "all"}');
  });

  it('follows no redirect, which would send the key elsewhere', async () => {
    expect(await call('redirect', 'execute')).toBe('[] ProblemError 307');
    expect(paths).not.toContain('/elsewhere');
  });

  it('raises an error for an answer that no hub sent', async () => {
    expect(await call('proxy', 'rows')).toBe('[] ProblemError 502');
  });
});
