/** CSV of results of every shape, read by other programs: as many rows, and the same texts. */

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, inject, it } from 'vitest';
import { arrowEnv } from '../../tools/arrow-readers.ts';
import { api, createSource, engines } from '../support/hub.ts';

const program = fileURLToPath(new URL('../../tools/csv-readers.py', import.meta.url));

function readersOf(csv: string, delimiter: string): [string, string[][]][] {
  const options = { input: csv, env: arrowEnv(process.env) };
  const { status, stdout, stderr } = spawnSync('python3', [program, delimiter], options);
  if (status !== 0) throw new Error(stderr.toString());
  return Object.entries(JSON.parse(stdout.toString()));
}

const literal = (text: string | null) => (text === null ? 'NULL' : `'${text.replaceAll("'", "''")}'`);
const rowsOf = (...texts: (string | null)[][]) =>
  texts
    .map((row) => `SELECT ${row.map((text, i) => `${literal(text)} AS c${i}`).join(', ')}`)
    .join(' UNION ALL ');
const odd = [
  ['one line', 'two\nlines', 'say "so"'],
  ['', ' blanks ', 'a,b;c\td'],
  ['="="', "'", '\r'],
  [null, 'null', 'Zürich 東京'],
];
const shapes: [string, string, (string | null)[][]][] = [
  ['odd texts', rowsOf(...odd), odd],
  ['one column with NULL and the empty text', rowsOf(['a'], [null], ['']), [['a'], [null], ['']]],
  ['one NULL', 'SELECT NULL AS a', [[null]]],
  ['no rows', 'SELECT 1 AS a WHERE 1 = 0', []],
];
const isPostgres = engines[0] === 'postgres';
// Only PostgreSQL has results without columns.
if (isPostgres) shapes.push(['no columns', 'SELECT FROM generate_series(1, 3)', [[null], [null], [null]]]);

it.each(shapes)('%s are read back by each reader', async (name, query, rows) => {
  const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'csv' }));
  const sourceId = await createSource(hubId);
  const { config } = await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'q', query }));
  const { queryId } = config.query;
  const headers = { accept: 'text/csv' };
  const expected = rows.map((row) => row.map((text) => text ?? ''));
  const forms = [
    [',', false],
    [';', true],
    ['\t', true],
  ] as const;
  for (const [delimiter, bom] of name === 'odd texts' ? forms : forms.slice(0, 1)) {
    const options = { csv: { delimiter, bom } };
    const { text } = await api.post('/v1/queries/execute', { queryId, options }, { headers });
    // Reading the text removed the mark.
    for (const [reader, found] of readersOf((bom ? '\ufeff' : '') + text, delimiter))
      expect(found, reader).toEqual(expected);
    const query = `options.csv.delimiter=${encodeURIComponent(delimiter)}&options.csv.bom=${Number(bom)}`;
    expect((await api.get(`/v1/queries/${queryId}/data?${query}`, { headers })).text).toBe(text);
  }
});

it('begins with a byte order mark only if a call asks for it, and names the delimiters and decimals', async () => {
  const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'csv' }));
  const sourceId = await createSource(hubId);
  const query = 'SELECT 1 AS a, 2.5 AS b';
  const create = { hubId, sourceId, label: 'q', query, cache: { maxAgeS: 60 } };
  const { queryId } = (await api.ok(api.post('/v1/queries', create))).config.query;
  const bytesOf = async (csv: object) => {
    const body = JSON.stringify({ queryId, options: { csv } });
    const headers = { accept: 'text/csv', 'content-type': 'application/json' };
    const { url, key } = inject('hub');
    const all = { method: 'POST', body, headers: { ...headers, 'x-service-api-key': key } };
    return Buffer.from(await (await fetch(`${url}/v1/queries/execute`, all)).arrayBuffer()).toString();
  };
  // The cached results are kept apart.
  expect(await bytesOf({})).toBe('a,b\r\n1,2.5\r\n');
  expect(await bytesOf({ bom: true })).toBe('\ufeffa,b\r\n1,2.5\r\n');
  expect(await bytesOf({ delimiter: ';' })).toBe('a;b\r\n1;2.5\r\n');
  expect(await bytesOf({ delimiter: ';', decimal: ',' })).toBe('a;b\r\n1;2,5\r\n');
  const refused = await api.post('/v1/queries/execute', { queryId, options: { csv: { delimiter: '|' } } });
  expect([refused.status, refused.body.errors[0].pointer]).toEqual([400, '/options/csv/delimiter']);
  const asked = await api.get(`/v1/queries/${queryId}/data?options.csv.delimiter=|`);
  expect(asked.body.errors[0].detail).toBe('must be one of %2C %3B %09 in percent-encoding');
});
