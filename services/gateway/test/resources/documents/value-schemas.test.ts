import { describe, expect, it } from 'vitest';
import {
  type Described,
  toRowSchema,
  toValueShapes,
} from '../../../src/resources/documents/value-schemas.ts';
import { writeJson } from '../../../src/response/json-splices.ts';

const none = new Set<string>();
const written = (schema: unknown) => JSON.parse(writeJson(schema));
const described = (variables: Described['variables']): Described => ({ columns: [], variables });
const column = (jsonType?: string, nullable?: boolean) =>
  toRowSchema({
    variables: [],
    columns: [
      {
        name: 'a',
        type: 't',
        ...(jsonType ? { jsonType } : {}),
        ...(nullable === undefined ? {} : { nullable }),
      },
    ],
  })?.properties;

describe('rows', () => {
  it.each([
    ['number', false, { type: 'number' }],
    ['number', true, { type: ['number', 'null'] }],
    ['number|string', undefined, { type: ['number', 'string', 'null'] }],
    ['number|string|boolean|object|array', false, {}],
    [undefined, false, {}],
    ['a type of tomorrow', true, {}],
  ])('of a column of %s, nullable: %s', (jsonType, nullable, schema) => {
    expect(column(jsonType, nullable)).toEqual({ a: { ...schema, description: 't' } });
  });

  it('have exactly the columns, with any name', () => {
    const columns = ['__proto__', 'constructor'].map((name) => ({ name, type: 't', jsonType: 'string' }));
    const schema = toRowSchema({ columns, variables: [] });
    expect(schema).toMatchObject({ required: ['__proto__', 'constructor'], additionalProperties: false });
    expect(Object.keys(schema?.properties as object)).toEqual(['__proto__', 'constructor']);
  });

  it('are unknown without columns', () => {
    expect(toRowSchema(undefined)).toBeUndefined();
    expect(toRowSchema(described([]))).toBeUndefined();
  });
});

describe('values', () => {
  const only = (...given: Parameters<typeof toValueShapes>) => toValueShapes(...given)[0];

  it('have the declared type rather than the one that the source reported', () => {
    const declared = [{ key: 'a', type: 'integer' }];
    expect(only(declared, described([{ key: 'a', type: 'text' }]), none)?.schema).toMatchObject({
      type: ['integer', 'null'],
      format: 'int32',
    });
    expect(only([], described([{ key: 'a', type: 'timestamp with time zone' }]), none)?.inUrl).toEqual({
      type: 'string',
      format: 'date-time',
    });
    expect(only([], described([{ key: 'a', type: 'geometry' }]), none)?.schema).toEqual({});
  });

  it('are lists if the source or the declaration says so, and in a URL only if it is declared', () => {
    const list = { type: 'array', maxItems: 10_000 };
    const placed = only([], described([{ key: 'a', type: 'bigint', list: true, nullable: false }]), none);
    expect(placed?.schema).toMatchObject({ ...list, items: { format: 'int64' } });
    expect(placed?.inUrl).not.toHaveProperty('items');
    const declared = only([{ key: 'a', type: 'uuid[]', required: true }], undefined, none);
    expect(declared?.schema).toEqual({ ...list, items: { type: ['string', 'null'], format: 'uuid' } });
    expect(declared?.inUrl).toEqual({ type: 'array', items: { type: 'string', format: 'uuid' } });
  });

  it('are text in a URL without a declared type, unless the source reports one', () => {
    expect(only([{ key: 'a' }], undefined, none)?.inUrl).toEqual({ type: 'string' });
    expect(only([], described([{ key: 'a', type: 'jsonb' }]), none)?.inUrl).toEqual({ type: 'string' });
    const chosen = only([{ key: 'a', enumJson: '["x",1]' }], undefined, none);
    expect(written(chosen?.inUrl)).toEqual({ type: 'string', enum: ['x'] });
    expect(only([{ key: 'a', type: 'json' }], undefined, none)?.inUrl).toEqual({});
  });

  it('of any JSON cannot be null if they are required', () => {
    const declared = [{ key: 'a', type: 'json', required: true }];
    expect(only(declared, undefined, none)?.schema).toEqual({ not: { type: 'null' } });
    expect(only([{ key: 'a', type: 'json' }], undefined, none)?.schema).toEqual({});
  });

  it('can be left out if they have a default, and can be null only if that is accepted', () => {
    const shapes = toValueShapes(
      [
        { key: 'a', valueJson: 'null' },
        { key: 'b', type: 'string', required: false },
        { key: 'c', type: 'string', required: true, enumJson: '["x"]' },
        { key: 'd', type: 'string', enumJson: '["x"]' },
      ],
      undefined,
      none,
    );
    expect(shapes.map(({ required }) => required)).toEqual([false, false, true, true]);
    expect(written(shapes[2]?.schema)).toMatchObject({ type: 'string', enum: ['x'] });
    expect(written(shapes[3]?.schema)).toMatchObject({ type: ['string', 'null'], enum: ['x', null] });
  });

  it('have null in a list with an enum only if the enum has it', () => {
    const itemsOf = (enumJson: string) =>
      written(only([{ key: 'a', type: 'string[]', enumJson }], undefined, none)?.schema.items);
    expect(itemsOf('["x"]')).toMatchObject({ type: 'string', enum: ['x'] });
    expect(itemsOf('[null,"x"]')).toMatchObject({ type: ['string', 'null'], enum: ['x', null] });
  });

  it('are optional if the text does not use them, and pinned ones are left out', () => {
    const shapes = toValueShapes(
      [{ key: 'unused' }, { key: 'tenant' }],
      described([{ key: 'tenant' }, { key: 'id' }]),
      new Set(['tenant']),
    );
    expect(shapes.map(({ key, required }) => [key, required])).toEqual([
      ['id', true],
      ['unused', false],
    ]);
  });
});
