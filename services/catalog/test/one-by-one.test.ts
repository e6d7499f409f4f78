import { expect, it } from 'vitest';
import { createOneByOne } from '../src/one-by-one.ts';

it('tasks of one key run in their order, and those of another beside them', async () => {
  const oneByOne = createOneByOne();
  const log: string[] = [];
  const task = (name: string) => async () => {
    log.push(`${name} begins`);
    await new Promise(setImmediate);
    log.push(`${name} ends`);
    if (name === 'b') throw new Error('b failed');
    return name;
  };
  const all = await Promise.allSettled([
    oneByOne('k', task('a')),
    oneByOne('k', task('b')),
    oneByOne('k', task('c')),
    oneByOne('other', task('d')),
  ]);
  expect(all.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
  const ofOne = log.filter((line) => !line.startsWith('d'));
  expect(ofOne).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
  expect(log.indexOf('d ends')).toBeLessThan(log.indexOf('b ends'));
});

it('too many that wait for one key are refused', async () => {
  const oneByOne = createOneByOne();
  const all = Array.from({ length: 120 }, () => oneByOne('k', () => new Promise(setImmediate)));
  const refused = (await Promise.allSettled(all)).filter(({ status }) => status === 'rejected');
  expect(refused).toHaveLength(19);
  expect(refused[0]).toMatchObject({ reason: { code: 'UNAVAILABLE', retryable: true } });
});
