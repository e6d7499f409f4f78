import { describe, expect, it } from 'vitest';
import { StepAnswer, withReferences } from '../../src/execution/transactions/references.ts';
import { StepSessions } from '../../src/execution/transactions/step-sessions.ts';
import type { Statement } from '../../src/ports/engine.ts';

const answers = new Map([
  [
    'order',
    new StepAnswer(
      '{"data":[{"id":9007199254740993,"a/b":"x","tags":["one","two"],"doc":{"n":1.10}}, {"id":null}],"truncated":true}',
    ),
  ],
]);
const refer = (pointer: string, context = '', pinned: string[] = []) =>
  withReferences(context, [{ variable: 'v', from: 'order', pointer }], {
    answers,
    pinned: new Set(pinned),
  });

describe('a reference', () => {
  it.each([
    ['/data/0/id', '{"v":9007199254740993}'],
    ['/data/0/a~1b', '{"v":"x"}'],
    ['/data/0/tags/1', '{"v":"two"}'],
    ['/data/0/tags', '{"v":["one","two"]}'],
    ['/data/0/doc/n', '{"v":1.10}'],
    ['/data/1/id', '{"v":null}'],
  ])('to %s takes the value with all digits', (pointer, expected) => {
    expect(refer(pointer)).toBe(expected);
  });

  it('joins the context, and a pinned variable wins', () => {
    expect(refer('/data/0/tags/0', '{"other": 1.0}')).toBe('{"other":1.0,"v":"one"}');
    expect(refer('/data/0/tags/0', '{"other": 1.0}', ['v'])).toBe('{"other": 1.0}');
  });

  it.each([
    '/data/2/id',
    '/data/0/none',
    '/data/-/id',
    '/data/1000/id',
    '/truncated',
    'data/0/id',
    '/data/0/id/x',
  ])('to %s finds nothing', (pointer) => {
    expect(() => refer(pointer)).toThrow(expect.objectContaining({ code: 'CONTEXT_INVALID' }));
  });
});

it('references past many parts, deep ones and large ones are refused, and many read an answer once', () => {
  const many = (count: number) => `[${'1,'.repeat(count - 1)}1]`;
  const deep = (levels: number) => `${'['.repeat(levels)}7${']'.repeat(levels)}`;
  const answer = (value: string) => new Map([['s', new StepAnswer(`{"data":[{"v":${value}}]}`)]]);
  const referTo = (value: string, pointers: string[]) =>
    withReferences(
      '',
      pointers.map((pointer, i) => ({ variable: `v${i}`, from: 's', pointer: `/data/0/v${pointer}` })),
      { answers: answer(value), pinned: new Set() },
    );
  const refused = expect.objectContaining({ code: 'CONTEXT_INVALID' });
  expect(referTo(many(20_000), ['/9999'])).toBe('{"v0":1}');
  expect(() => referTo(many(20_000), ['/10000'])).toThrow(refused);
  expect(referTo(deep(14), ['/0'.repeat(14)])).toBe('{"v0":7}');
  expect(() => referTo(deep(15), ['/0'.repeat(15)])).toThrow(refused);
  const large = `"${'x'.repeat(3_000_000)}"`;
  expect(referTo(large, ['']).length).toBeGreaterThan(3_000_000);
  expect(() => referTo(large, ['', ''])).toThrow(refused);

  const cpuMs = (references: number) => {
    const before = process.threadCpuUsage();
    referTo(
      `[${many(1_900_000)},1]`,
      Array.from({ length: references }, () => '/1'),
    );
    return process.threadCpuUsage(before).user / 1_000;
  };
  cpuMs(1);
  expect(cpuMs(50)).toBeLessThan(8 * cpuMs(1) + 20);
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
