import { describe, expect, it } from 'vitest';
import { type Checker, createChecker } from '../src/check.ts';

/** All faults of one check. */
function faultsOf(look: (check: Checker) => void) {
  const check = createChecker();
  look(check);
  try {
    check.done();
    return [];
  } catch (err) {
    return (err as { errors: unknown }).errors;
  }
}
const fault = (detail: string, path = ['x']) => [{ path, detail }];

describe('a label', () => {
  const length = fault('must have 1 to 200 characters');
  const control = fault('must not contain control characters');
  it.each([
    ['a', []],
    ['x'.repeat(200), []],
    // Characters, not units of UTF-16.
    ['😀'.repeat(200), []],
    [' \u00a0a\n', []],
    ['', length],
    ['   ', length],
    ['x'.repeat(201), length],
    ['😀'.repeat(201), length],
    ['a\nb', control],
    ['a\0b', control],
    ['a\u001fb', control],
    ['a\u007fb', control],
    ['a\u009fb', control],
    ['a\u00a0b', []],
    ['a\ud800b', fault('must be valid Unicode')],
  ])('%j', (text, faults) => {
    expect(faultsOf((check) => check.label(['x'], text))).toEqual(faults);
  });

  it('is trimmed', () => {
    expect(createChecker().label(['x'], '  a b\t')).toBe('a b');
  });
});

describe('a text', () => {
  const bounds = { min: 2, max: 4 };
  const length = fault('must have 2 to 4 characters');
  const invalid = fault('must be valid Unicode without NUL');
  it.each([
    ['ab', []],
    ['abcd', []],
    ['a', length],
    ['abcde', length],
    ['a\0', invalid],
    ['a\udfff', invalid],
  ])('%j', (text, faults) => {
    expect(faultsOf((check) => check.text(['x'], text, bounds))).toEqual(faults);
  });

  it('stays as it is', () => {
    expect(createChecker().text(['x'], ' a ', bounds)).toBe(' a ');
  });
});

describe('a path', () => {
  const isPath = /^[a-z]+$/;
  const wrong = fault('must have 1 to 200 characters and match ^[a-z]+$');
  it.each([
    ['a', []],
    ['x'.repeat(200), []],
    ['x'.repeat(201), wrong],
    ['A', wrong],
  ])('%j', (text, faults) => {
    expect(faultsOf((check) => check.path(['x'], text, isPath))).toEqual(faults);
    expect(createChecker().path(['x'], text, isPath)).toBe(text);
  });

  it('is none if it is empty', () => {
    expect(faultsOf((check) => expect(check.path(['x'], '', isPath)).toBeUndefined())).toEqual([]);
  });
});

describe('a number', () => {
  const out = fault('must be a whole number from 1 to 3');
  it.each([
    [1, []],
    [3, []],
    [0, out],
    [4, out],
    [1.5, out],
    [Number.NaN, out],
  ])('%j', (value, faults) => {
    expect(faultsOf((check) => check.integer(['x'], value, { min: 1, max: 3 }))).toEqual(faults);
    expect(createChecker().integer(['x'], value, { min: 1, max: 3 })).toBe(value);
  });
});

it('one of several is what it is, and anything else a fault', () => {
  const check = createChecker();
  expect(check.oneOf(['x'], 'b', ['a', 'b'])).toBe('b');
  check.done();
  expect(check.oneOf(['x'], 'c', ['a', 'b'])).toBe('a');
  expect(faultsOf((one) => one.oneOf(['x'], 'c', ['a', 'b']))).toEqual(fault('must be one of a, b'));
});

it('all faults are reported at once', () => {
  const refused = (count: number) => {
    const check = createChecker();
    for (let i = 0; i < count; i++) check.fault(['list', i], 'is wrong');
    return check.done;
  };
  expect(refused(0)).not.toThrow();
  expect(refused(1)).toThrow(expect.objectContaining({ code: 'VALIDATION', message: 'list.0 is wrong.' }));
  expect(refused(3)).toThrow(
    expect.objectContaining({
      message: 'list.0 is wrong; "errors" lists 2 more faults.',
      errors: [0, 1, 2].map((i) => ({ path: ['list', i], detail: 'is wrong' })),
    }),
  );
});
