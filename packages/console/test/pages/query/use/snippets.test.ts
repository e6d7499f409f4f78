import type { EngineName } from '@datahub/contract/engines';
import { expect, it } from 'vitest';
import { formNames, formOf, toolNameOf } from '../../../../src/pages/query/use/forms.ts';
import {
  type Call,
  link,
  python,
  typescript,
  webPage,
  whyNoLink,
} from '../../../../src/pages/query/use/snippets.ts';

const call: Call = { url: 'https://shop.example/', queryId: 'q', label: 'Sales', members: [], columns: [] };
const query = (command: string, engine: EngineName = 'postgres') => ({
  meta: { engine, hubId: 'h', label: 'Sales', parentNodeId: 'f' },
  config: { command, context: [], query: { queryId: 'q', query: '' }, source: { sourceId: 's', engine } },
});

it('gives the rows of TypeScript the types of the answer, not those of the database', () => {
  const text = typescript({
    ...call,
    columns: [
      { name: 'n', jsonType: 'number' },
      { name: 'took', jsonType: 'string' },
      { name: 'price', jsonType: 'number|string' },
      { name: 'tags', jsonType: 'array' },
      { name: 'doc', jsonType: 'number|string|boolean|object|array' },
    ],
  });
  expect(text).toContain(`interface Row {
  "n": number | null;
  "took": string | null;
  "price": number | string | null;
  "tags": unknown[] | null;
  "doc": unknown | null;
}`);
});

it('writes values into a link with all digits, and lists one by one', () => {
  const members: [string, string][] = [
    ['min', '12345678901234567890.10'],
    ['name', '"a & b"'],
    ['ids', '[1,20000000000000000001]'],
    ['on', 'true'],
  ];
  const values = 'min=12345678901234567890.10&name=a%20%26%20b&ids=1&ids=20000000000000000001&on=true';
  expect(link({ ...call, members }, { hubId: 'h', path: undefined })).toBe(
    `https://shop.example/v1/queries/q/data?${values}`,
  );
  expect(link(call, { hubId: 'h', path: 'reports/sales' })).toBe(
    'https://shop.example/v1/hubs/h/data/reports/sales',
  );
  expect(whyNoLink(members)).toBeUndefined();
  expect(whyNoLink([['ids', '[]']])).toContain('empty list');
});

it('lets no text of a query end the script of a page', () => {
  const page = webPage({ ...call, label: '</title><script>', members: [['v', '"</script><!--"']] });
  expect(page.match(/<\/script>/g)).toHaveLength(1);
  expect(page.match(/<\/title>/g)).toHaveLength(1);
  expect(page).not.toContain('<!--');
});

it('says in each program that an answer of rows is not all', async () => {
  expect(typescript(call)).toContain('const { data, truncated } = ');
  expect(typescript(call)).toContain("if (truncated) console.warn('This is not all: ");
  expect(python(call)).toContain('if answer.get("truncated"):\n    print("This is not all: ');
  const shown: unknown[] = [];
  const element = () => ({
    set textContent(text: unknown) {
      shown.push(text);
    },
  });
  const insertRow = () => ({ insertCell: element });
  const querySelector = (name: string) => (name === 'p' ? element() : { insertRow });
  const answer = { data: [{ n: 1, doc: { a: [null] } }], truncated: true };
  const fetch = () => ({ ok: true, json: () => answer });
  const [, script = ''] = /<script type="module">(.*)<\/script>/s.exec(webPage(call)) ?? [];
  const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor;
  await new AsyncFunction('document', 'fetch', script)({ querySelector }, fetch);
  expect(shown).toEqual(['1 rows, and more', 'n', 'doc', 1, '{"a":[null]}']);
});

it('tries a write as a dry run, and says why something has no link', () => {
  const write = formOf('curl', call, { query: query('UPDATE'), version: undefined, secrets: [] });
  expect(write).toMatchObject({ isDryRun: true });
  expect(write.request?.body).toBe('{"queryId":"q","context":{},"options":{"dryRun":true}}');
  expect(
    formOf('curl', call, { query: query('CALL'), version: undefined, secrets: [] }).request,
  ).toBeUndefined();
  expect(
    formOf('Link', call, { query: query('UPDATE'), version: undefined, secrets: [] }).text,
  ).toBeUndefined();
  expect(formOf('Link', call, { query: query('SELECT'), version: 2, secrets: ['pin'] }).reason).toContain(
    'pin',
  );
  expect(formOf('Agent', call, { query: query('SELECT'), version: undefined, secrets: [] }).reason).toContain(
    'do not see',
  );
});

it('tries the version that is shown: another one may write', () => {
  for (const [command, options] of [
    ['SELECT', '{"version":3}'],
    ['UPDATE', '{"version":3,"dryRun":true}'],
  ] as const) {
    const { request } = formOf('curl', call, { query: query(command), version: 3, secrets: [] });
    expect(request?.body).toBe(`{"queryId":"q","context":{},"options":${options}}`);
  }
});

it('makes the name of a tool from the name of a query', () => {
  expect(toolNameOf('Größe: Sales of a region!')).toBe('gro_e_sales_of_a_region');
  expect(toolNameOf('売上')).toBe('query');
});

it('puts placeholders for secret values into all texts, and sends the values with Try', () => {
  const members: [string, string][] = [
    ['token', '"s3cr3t"'],
    ['region', '"north"'],
  ];
  const options = { query: query('SELECT'), version: 2, secrets: ['token'] };
  for (const name of formNames) {
    const { text, request } = formOf(name, { ...call, members }, options);
    expect(text ?? '').not.toContain('s3cr3t');
    if (name === 'Link' || name === 'Agent') continue;
    expect(text).toContain('your token');
    expect(text).toContain('north');
    expect(request?.body).toContain('"token":"s3cr3t"');
  }
});
