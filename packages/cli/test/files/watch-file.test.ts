import { expect, it } from 'vitest';
import type { Fault } from '../../src/files/fault.ts';
import type { WatchModel } from '../../src/files/model.ts';
import { changedWatchMembers, readWatchFile, writeWatchFile } from '../../src/files/watch-file.ts';

const whole: WatchModel = {
  ...{ path: 'big', label: 'Big orders', query: 'orders/all', context: { region: 'north' } },
  schedule: { cron: '0 6 * * *', timeZone: 'Europe/Berlin', spreadS: 60, missed: 'once' },
  when: { column: 'amount', is: '>', value: 100, forRuns: 2 },
  ...{ by: ['id'], include: ['id'], to: ['Ops'], paused: true },
};
const plain: WatchModel = {
  ...{ path: 'a/b', label: 'A', query: 'q', context: {}, schedule: { everyS: 60 }, when: 'new' },
  ...{ by: [], include: [], to: [], paused: false },
};

const read = (text: string, path = 'big') => {
  const faults: Fault[] = [];
  const file = readWatchFile(text, { file: 'watches/big.yaml', path, faults });
  return { model: file?.model, faults };
};

it.each([whole, plain])('writes a watch that it reads again: $label', (watch) => {
  const text = writeWatchFile(watch);
  expect(read(text, watch.path)).toEqual({ model: watch, faults: [] });
  expect(writeWatchFile(read(text, watch.path).model as WatchModel)).toBe(text);
});

it('leaves out what is the default', () => {
  const text = writeWatchFile({ ...plain, schedule: { everyS: 60, missed: 'skip' } });
  expect(text).toBe('label: A\nquery: q\nschedule:\n  everyS: 60\nwhen: new\n');
});

it.each(Object.keys(whole).filter((name) => name !== 'path'))('sees a change of %s', (name) => {
  expect(
    changedWatchMembers(whole, { ...whole, [name]: plain[name as keyof WatchModel] } as WatchModel),
  ).toEqual([name]);
});

it('takes a default that is written for none', () => {
  const written = { ...plain, schedule: { everyS: 60, missed: 'skip' } } as WatchModel;
  expect(changedWatchMembers(plain, written)).toEqual([]);
  const condition = { ...plain, when: { column: 'a', is: '=', value: 1 } };
  expect(changedWatchMembers(condition, { ...condition, when: { ...condition.when, forRuns: 1 } })).toEqual(
    [],
  );
});

it('reports all faults with their places', () => {
  const text = writeWatchFile(whole)
    .replace('query:', 'queries:')
    .replace('everyS', 'every')
    .replace("is: '>'", 'is: above')
    .replace('is: ">"', 'is: above')
    .replace('paused: true', 'paused: 1');
  expect(read(text).faults.map(({ line, detail }) => `${line} ${detail}`)).toEqual([
    expect.stringMatching(/^2 queries is unknown/),
    expect.stringMatching(/paused must be true or false$/),
    expect.stringMatching(/query is missing$/),
  ]);
  const odd = read(writeWatchFile({ ...whole, when: { column: 'a', is: 'above', value: 1 } }));
  expect(odd.faults.map(({ detail }) => detail)).toEqual(['when.is must be one of >, >=, <, <=, =, !=']);
});
