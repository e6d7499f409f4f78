import { describe, expect, it } from 'vitest';
import { variableIn } from '../../src/mongodb/template.ts';
import { bind, find } from '../command-fixture.ts';

const long = `a${'b'.repeat(63)}`;

describe('a text', () => {
  it.each<[unknown, string]>([
    [':name', 'name'],
    [':_', '_'],
    [':A9_z', 'A9_z'],
    [`:${long}`, long],
    ['{{name}}', 'name'],
    ['{{ name }}', 'name'],
    ['{{\t  name\n}}', 'name'],
    ['{{name  }}', 'name'],
    ['{{  name}}', 'name'],
    [`{{${long}}}`, long],
  ])('%j is a variable', (text, name) => {
    expect(variableIn(text as string)).toBe(name);
  });

  it.each([
    ...['', ':', '::', 'name', ':9', ': name', ':name ', ' :name', 'x:name', ':na-me', ':näme', '::name'],
    ...['{{}}', '{name}', '{{9}}', '{{na me}}', ' {{name}}', '{{name}} ', 'x{{name}}', '{{name}}{{name}}'],
    ...[`:${long}c`, `{{${long}c}}`, ':name\n', '{{name}', '{name}}'],
  ])('%j is none', (text) => {
    expect(variableIn(text)).toBeUndefined();
  });

  it.each([[[':name']], [{ toString: ':name' }], [null], [5], [true]])('%j is none, either', (value) => {
    expect(variableIn(value)).toBeUndefined();
  });

  it.each([
    ['::name', ':name'],
    [':::name', '::name'],
    ['::_9', ':_9'],
    ['::9', '::9'],
    ['::name ', '::name '],
    ['::name.b', '::name.b'],
    ['x::name', 'x::name'],
    [':: name', ':: name'],
    ['::', '::'],
    ['{{other}} and {{ other }}', '{{other}} and {{ other }}'],
    ['{{name', '{{name'],
    ['{{na me}}x', '{{na me}}x'],
    ['{{name!}}x', '{{name!}}x'],
    ['{{n}}x', '{{n}}x'],
    ['a"b\\c\u2028\ud83d\ude00\n', 'a"b\\c\u2028\ud83d\ude00\n'],
    ['\ud800', '\ud800'],
  ])('%j is run as %j', (text, run) => {
    const variables = [{ key: 'name' }];
    expect(bind(find({ a: text, b: [{ c: text }] }), {}, { variables }).filter).toEqual({
      a: run,
      b: [{ c: run }],
    });
    expect(bind({ find: 'o', hint: text }, {}, { variables }).hint).toEqual(run);
  });

  it.each(['Dear {{name}}', '{{name}}!', '{{other}}{{name}}', 'a {{ \t name }} b', '::{{name}}'])(
    '%j is refused, which has a declared variable inside',
    (text) => {
      const message = '/filter/a contains {{name}} inside a string; a variable must be the whole value.';
      expect(() => bind(find({ a: text }), {}, { variables: [{ key: 'name' }] })).toThrow(
        expect.objectContaining({ code: 'SQL_REJECTED', message, stage: 'prepare', retryable: false }),
      );
    },
  );
});

it.each<[object, string]>([
  [find({ a: 'x\0' }), '/filter/a is a string that contains a NUL character.'],
  [find({ a: { 'x\0': 1 } }), '/filter/a/x\0 is a name that contains a NUL character.'],
  [
    find({ ':name': 1 }),
    '/filter/:name is a variable used as a field name; variables stand for values only.',
  ],
  [
    find({ a: { '{{ name }}': 1 } }),
    '/filter/a/{{ name }} is a variable used as a field name; variables stand for values only.',
  ],
  [{ find: 'x\0' }, '/find must be the name of a collection.'],
])('%j is refused', (command, message) => {
  expect(() => bind(command)).toThrow(
    expect.objectContaining({ code: 'SQL_REJECTED', message, stage: 'prepare', retryable: false }),
  );
});

it('a name by which the driver knows its own types is refused', () => {
  const refused = expect.objectContaining({ code: 'SQL_REJECTED' });
  expect(() => bind(find({ a: { _bsontype: 'Long' } }))).toThrow(refused);
});
