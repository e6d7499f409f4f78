import { expect, it } from 'vitest';
import { fieldName, wordsOfProblem } from '../../src/ui/problem-words.ts';

it('says each thing once', () => {
  const refused = {
    status: 502,
    code: 'SOURCE_AUTH',
    title: 'The source refused the log-in',
    detail: 'The source refuses the log-in. Check user, password and database.',
  };
  expect(wordsOfProblem(refused)).toEqual({
    title: '',
    text: `${refused.detail} After five refused log-ins the hub pauses for a minute.`,
    faults: [],
  });
  const rejected = {
    status: 422,
    title: 'The database rejected the statement',
    detail: 'column "x" does not exist',
  };
  expect(wordsOfProblem(rejected)).toMatchObject({ title: rejected.title, text: rejected.detail });
});

it('names fields instead of pointers', () => {
  const one = {
    status: 422,
    title: 'Variables are missing or invalid',
    detail: '/context/region is missing.',
    errors: [{ pointer: '/context/region', detail: 'is missing' }],
  };
  expect(wordsOfProblem(one)).toEqual({ title: one.title, text: 'region is missing.', faults: [] });
  const errors = [...one.errors, { pointer: '/limits/ratePerMinute', detail: 'must be at least 1' }];
  expect(wordsOfProblem({ ...one, detail: '/context/region is missing; …', errors })).toEqual({
    title: one.title,
    text: '',
    faults: ['region is missing', 'rate per minute must be at least 1'],
  });
});

it.each([
  ['/config/context/0/type', 'item 1, type'],
  ['/values/query', 'query'],
  ['/query', 'query'],
  ['query/limit', 'limit'],
  ['/connectionSettings/tls/ca', 'tls, ca'],
  ['', ''],
])('reads %s as %s', (pointer, words) => expect(fieldName(pointer)).toBe(words));

it('speaks of the role of a person who has no key', () => {
  const refused = { status: 403, code: 'SCOPE_DENIED', title: 'The key does not allow this', detail: 'No.' };
  expect(wordsOfProblem(refused, true)).toEqual({
    title: 'Your role does not allow this',
    text: 'No. Ask an admin for a role that does.',
    faults: [],
  });
});
