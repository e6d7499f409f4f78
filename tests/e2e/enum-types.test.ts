/** Enums of PostgreSQL: their labels in signatures, documents, tools and modules. */

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { api, createSource, engines, execute } from '../support/hub.ts';

const cli = fileURLToPath(new URL('../../services/hub/src/cli.ts', import.meta.url));
const type = `mood_${Date.now().toString(36)}`;

describe.skipIf(!engines.includes('postgres'))('a query with an enum', () => {
  let hubId: string;
  let sourceId: string;
  let queryId: string;
  const change = (query: string, command: string) => execute({ hubId, sourceId, query, command });

  beforeAll(async () => {
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: 'enums' })));
    sourceId = await createSource(hubId, 'postgres');
    await change(`CREATE TYPE ${type} AS ENUM ('sad', 'o''k', 'happy')`, 'CREATE');
    await change(`CREATE DOMAIN ${type}_d AS ${type}`, 'CREATE');
    const query = `SELECT m AS mood, m::${type}_d AS narrow, ARRAY[m] AS moods, m::text AS word
      FROM unnest(enum_range(NULL::${type})) AS m WHERE m >= :least AND m = ANY (:any) AND m::text <> :word`;
    const context = [
      { key: 'any', value: ['sad', 'happy'] },
      { key: 'word', type: 'string', value: '' },
    ];
    const body = { hubId, sourceId, label: 'Moods', query, context };
    queryId = (await api.ok(api.post('/v1/queries', body))).config.query.queryId;
  });
  afterAll(() => change(`DROP TYPE IF EXISTS ${type} CASCADE`, 'DROP'));

  const labels = ['sad', "o'k", 'happy'];

  it('has the labels in its signature', async () => {
    for (const _ of ['described now', 'stored']) {
      const { signature } = await api.ok(api.get(`/v1/queries/${queryId}?signature=1`));
      const of = (list: { name?: string; key?: string; labels?: string[] }[]) =>
        Object.fromEntries(list.map((one) => [one.name ?? one.key, one.labels]));
      expect(of(signature.columns)).toEqual({
        mood: labels,
        narrow: labels,
        moods: undefined,
        word: undefined,
      });
      expect(of(signature.variables)).toEqual({ least: labels, any: labels, word: undefined });
    }
    const query = `SELECT m::${type} AS mood FROM (VALUES ('sad')) AS v(m)`;
    const checked = await api.ok(api.post('/v1/queries/check', { sourceId, query, compareTo: queryId }));
    expect(checked.signature.columns[0]).toMatchObject({ name: 'mood', labels });
  });

  it('is described so in OpenAPI', async () => {
    const document = await api.ok(api.get(`/v1/hubs/${hubId}/openapi.json`));
    const listed = document['x-datahub-queries'].find(({ name }: { name: string }) => name === 'moods');
    const propertiesOf = (ref: string) => document.components.schemas[ref.split('/').at(-1) ?? ''].properties;
    const [row, context] = [propertiesOf(listed.row), propertiesOf(listed.context)];
    expect(row.mood).toMatchObject({ type: ['string', 'null'], enum: [...labels, null] });
    expect(row.moods).toMatchObject({ type: ['array', 'null'] });
    expect(context.least).toMatchObject({ enum: expect.arrayContaining(labels) });
    expect(context.any).toMatchObject({ items: { enum: expect.arrayContaining(labels) } });
  });

  it('has unions in modules, for variables too', async () => {
    const { url: DATAHUB_URL, key: DATAHUB_API_KEY } = inject('hub');
    const env = { ...process.env, DATAHUB_URL, DATAHUB_API_KEY };
    const types = async (...args: string[]) =>
      (await promisify(execFile)(process.execPath, [cli, 'types', hubId, ...args], { env })).stdout;
    const typescript = await types();
    expect(typescript).toContain(`mood: "sad" | "o'k" | "happy" | null;`);
    expect(typescript).toContain(`least: "sad" | "o'k" | "happy" | null;`);
    expect(typescript).toContain(`any?: readonly ("sad" | "o'k" | "happy")[] | null`);
    const python = await types('--python');
    expect(python).toContain(`"mood": Literal["sad", "o'k", "happy", None],`);
    expect(python).toContain(`"any": NotRequired[Sequence[Literal["sad", "o'k", "happy"]] | None],`);
  });

  it('still takes a label that was added, and is described with it', async () => {
    await change(`ALTER TYPE ${type} ADD VALUE 'new'`, 'ALTER');
    await api.ok(api.post(`/v1/sources/${sourceId}/check`, {}));
    const { signature, state } = await api.ok(api.get(`/v1/queries/${queryId}?signature=1`));
    expect(signature.columns[0].labels).toEqual([...labels, 'new']);
    expect(state).not.toBe('drifted');
    const { data } = await api.ok(
      api.post('/v1/queries/execute', { queryId, context: { least: 'new', any: ['new'] } }),
    );
    expect(data).toMatchObject([{ mood: 'new' }]);
  });
});
