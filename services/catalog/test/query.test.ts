import { describe, expect, it } from 'vitest';
import { makeQuery, type NewQuery, patchQuery } from '../src/query.ts';

const context = { accountId: 'a', nowMs: 1, createId: (kind: string) => `dh.${kind}.1` };
const input: NewQuery = {
  hubId: 'h',
  parentNodeId: 'n',
  label: 'q',
  sourceId: 's',
  engine: 'postgres',
  query: 'SELECT 1',
};

describe('the variables of a query', () => {
  it('are kept as they were written', () => {
    const variables = [{ key: 'a', valueJson: '1.10', enumJson: '[1.10, null]' }];
    expect(makeQuery({ ...input, context: variables }, context).context).toEqual(variables);
  });

  it('have defaults and enums that are JSON, for every caller', () => {
    const variables = [
      { key: 'a', valueJson: '{bad' },
      { key: 'b', enumJson: '{"not":"a list"}' },
      { key: 'c', valueJson: '', enumJson: '[' },
    ];
    const errors = [
      { path: ['context', 0, 'value'], detail: 'must be JSON' },
      { path: ['context', 1, 'enum'], detail: 'must be a JSON array' },
      { path: ['context', 2, 'value'], detail: 'must be JSON' },
      { path: ['context', 2, 'enum'], detail: 'must be a JSON array' },
    ];
    expect(() => makeQuery({ ...input, context: variables }, context)).toThrow(
      expect.objectContaining({ code: 'VALIDATION', errors }),
    );
    const query = makeQuery(input, context);
    expect(() => patchQuery(query, { context: variables })).toThrow(
      expect.objectContaining({ code: 'VALIDATION', errors }),
    );
  });

  it('are bounded in the values of all defaults and enums together', () => {
    const make = (values: number) =>
      makeQuery(
        {
          ...input,
          context: [
            { key: 'a', valueJson: `[[${'{},'.repeat(values - 1_005)}"[,{"]]` },
            { key: 'b', enumJson: `[${'1,'.repeat(1_000)}1]` },
          ],
        },
        context,
      );
    expect(make(10_000).context).toHaveLength(2);
    expect(() => make(10_001)).toThrow(
      expect.objectContaining({
        code: 'TOO_LARGE',
        message: expect.stringContaining('context must have at most 10000 values'),
      }),
    );
  });

  it('are not counted if they are stored already, and a client sends them back or restores them', () => {
    const variables = [{ key: 'a', valueJson: `[${'1,'.repeat(20_000)}1]` }];
    const stored = { ...makeQuery(input, context), context: variables };
    expect(patchQuery(stored, { label: 'other' })).toMatchObject({ label: 'other', context: variables });
    expect(patchQuery(stored, { label: 'other', context: variables }).context).toEqual(variables);
    expect(patchQuery({ ...stored, context: [] }, { context: variables, isRestored: true }).context).toEqual(
      variables,
    );
    expect(() => patchQuery({ ...stored, context: [] }, { context: variables })).toThrow(
      expect.objectContaining({ code: 'TOO_LARGE' }),
    );
  });

  it('have defaults that an execution can take', () => {
    const variables = [
      { key: 'a', type: 'integer', valueJson: '"x"' },
      { key: 'b', enumJson: '["x"]', valueJson: '"y"' },
      { key: 'c', type: 'date[]', valueJson: '["2026-01-01", "soon"]' },
      { key: 'd', type: 'integer', valueJson: 'null', required: true },
      { key: 'e', type: 'integer', valueJson: '1' },
    ];
    const errors = [
      { path: ['context', 0, 'value'], detail: 'must be a whole number from -2147483648 to 2147483647' },
      { path: ['context', 1, 'value'], detail: 'must be one of the values that the query allows' },
      { path: ['context', 2, 'value'], detail: 'must be an array of date; element 1 is not' },
    ];
    expect(() => makeQuery({ ...input, context: variables }, context)).toThrow(
      expect.objectContaining({ code: 'VALIDATION', errors }),
    );
  });
});
