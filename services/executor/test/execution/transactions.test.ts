import { describe, expect, it } from 'vitest';
import type { QueryDefinition } from '../../src/definitions/definition.ts';
import { StepAnswer, withReferences } from '../../src/execution/transactions/references.ts';
import { StepSessions } from '../../src/execution/transactions/step-sessions.ts';
import type { Statement } from '../../src/ports/engine.ts';

const query = { variables: [] } as unknown as QueryDefinition;
const toAnswer = (json: string) => new StepAnswer(Buffer.from(json));
const answers = new Map([
  [
    'order',
    toAnswer(
      '{"data":[{"id":9007199254740993,"a/b":"x","tags":["one","two"],"doc":{"n":1.10}}, {"id":null}],"truncated":true}',
    ),
  ],
]);
const refer = (pointer: string, context = '', pinned: string[] = []) =>
  withReferences(context, [{ variable: 'v', from: 'order', pointer }], {
    answers,
    pinned: new Set(pinned),
    query,
  });

describe('a reference', () => {
  it.each([
    ['/data/0/id', '{"v":9007199254740993}'],
    ['/data/0/a~1b', '{"v":"x"}'],
    ['/data/0/tags/1', '{"v":"two"}'],
    ['/data/0/tags', '{"v":["one","two"]}'],
    ['/data/0/doc/n', '{"v":1.10}'],
    ['/data/1/id', '{"v":null}'],
  ])('to %s takes the value with all digits', async (pointer, expected) => {
    expect(await refer(pointer)).toBe(expected);
  });

  it('joins the context, and a pinned variable wins', async () => {
    expect(await refer('/data/0/tags/0', '{"other": 1.0}')).toBe('{"other":1.0,"v":"one"}');
    expect(await refer('/data/0/tags/0', '{"other": 1.0}', ['v'])).toBe('{"other": 1.0}');
  });

  it.each([
    '/data/2/id',
    '/data/0/none',
    '/data/-/id',
    '/data/1000/id',
    '/truncated',
    'data/0/id',
    '/data/0/id/x',
  ])('to %s finds nothing', async (pointer) => {
    await expect(refer(pointer)).rejects.toThrow(expect.objectContaining({ code: 'CONTEXT_INVALID' }));
  });
});

it('references past many parts, deep ones and large ones are refused, and many read an answer once', async () => {
  const many = (count: number) => `[${'1,'.repeat(count - 1)}1]`;
  const deep = (levels: number) => `${'['.repeat(levels)}7${']'.repeat(levels)}`;
  const answer = (value: string) => new Map([['s', toAnswer(`{"data":[{"v":${value}}]}`)]]);
  const referTo = (value: string, pointers: string[]) =>
    withReferences(
      '',
      pointers.map((pointer, i) => ({ variable: `v${i}`, from: 's', pointer: `/data/0/v${pointer}` })),
      { answers: answer(value), pinned: new Set(), query },
    );
  const refused = expect.objectContaining({ code: 'CONTEXT_INVALID' });
  expect(await referTo(many(20_000), ['/9999'])).toBe('{"v0":1}');
  await expect(referTo(many(20_000), ['/10000'])).rejects.toThrow(refused);
  expect(await referTo(deep(14), ['/0'.repeat(14)])).toBe('{"v0":7}');
  await expect(referTo(deep(15), ['/0'.repeat(15)])).rejects.toThrow(refused);
  const large = `"${'x'.repeat(3_000_000)}"`;
  expect((await referTo(large, [''])).length).toBeGreaterThan(3_000_000);
  await expect(referTo(large, ['', ''])).rejects.toThrow(refused);

  const cpuMs = async (references: number) => {
    const before = process.threadCpuUsage();
    await referTo(
      `[${many(1_900_000)},1]`,
      Array.from({ length: references }, () => '/1'),
    );
    return process.threadCpuUsage(before).user / 1_000;
  };
  await cpuMs(1);
  expect(await cpuMs(50)).toBeLessThan(8 * (await cpuMs(1)) + 20);
});

it.each([
  [`[${'[],'.repeat(20_000)}[]]`, 'has more than 20000 objects and arrays'],
  [`[${'1,'.repeat(100_001)}1]`, 'has more than 100000 members and elements'],
  [`${'{"a":'.repeat(64)}1${'}'.repeat(64)}`, 'is nested deeper than 64 levels'],
  ['{"a":1,"a":2}', 'is a duplicate member'],
  ['["a\\ud800b"]', 'holds half of a surrogate pair'],
])('a reference to what callers may not send is refused: %#', async (value, detail) => {
  const answer = new Map([['s', toAnswer(`{"data":[{"v":${value}}]}`)]]);
  const from = [{ variable: 'x', from: 's', pointer: '/data/0/v' }];
  const referring = withReferences('', from, { answers: answer, pinned: new Set(), query });
  await expect(referring).rejects.toMatchObject({
    code: 'CONTEXT_INVALID',
    errors: [
      {
        path: expect.arrayContaining(['references']),
        detail: expect.stringContaining(detail),
      },
    ],
  });
});

describe('the session of a step', () => {
  const statement = (session?: Statement['session']): Statement => ({
    ...{ key: 'k', text: 'SELECT 1', params: [], kind: 'read' },
    ...(session && { session }),
  });

  it('empties what earlier steps set', () => {
    const sessions = new StepSessions();
    expect(sessions.of(statement([['app.a', '1']])).session).toEqual([['app.a', '1']]);
    expect(sessions.of(statement([['app.b', '2']])).session).toEqual([
      ['app.a', ''],
      ['app.b', '2'],
    ]);
    expect(sessions.of(statement()).session).toEqual([
      ['app.a', ''],
      ['app.b', ''],
    ]);
  });

  it('has the path and the role of the first one', () => {
    const sessions = new StepSessions();
    sessions.of(statement([['role', 'a']]));
    sessions.of(
      statement([
        ['app.a', '1'],
        ['role', 'a'],
      ]),
    );
    expect(() => sessions.of(statement())).toThrow(expect.objectContaining({ code: 'OPTION_REFUSED' }));
  });
});
