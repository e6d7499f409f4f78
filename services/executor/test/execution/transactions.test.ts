import { describe, expect, it } from 'vitest';
import { withReferences } from '../../src/execution/transactions/references.ts';
import { StepSessions } from '../../src/execution/transactions/step-sessions.ts';
import type { Statement } from '../../src/ports/engine.ts';

const answers = new Map([
  [
    'order',
    '{"data":[{"id":9007199254740993,"a/b":"x","tags":["one","two"],"doc":{"n":1.10}}, {"id":null}],"truncated":true}',
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
