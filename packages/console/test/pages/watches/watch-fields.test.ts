import { expect, it } from 'vitest';
import { bodyOf, formOf } from '../../../src/pages/watches/watch-fields.ts';
import type { Watch } from '../../../src/pages/watches/words.ts';

const settings = {
  ...{ label: 'Stock', path: 'stock', queryId: 'q', context: { region: 'south' } },
  schedule: { cron: '30 6 * * 1-5', timeZone: 'Europe/Berlin', spreadS: 30, missed: 'once' },
  ...{ by: ['id'], include: ['amount'], to: ['d'], paused: true },
};
const watchOf = (when: unknown) => ({ ...settings, when }) as unknown as Watch;

it.each([
  ['new'],
  ['always'],
  [{ column: 'amount', is: '>=', value: 12.5, forRuns: 2 }],
  [{ column: 'code', is: '=', value: '0012', forRuns: 1 }],
])('sends a watch that tells %j as it is, if a person changes nothing', (when) => {
  const watch = watchOf(when);
  expect(bodyOf(formOf(watch), watch)).toEqual({ ...settings, when });
});

it('leaves what the form does not show as somebody else saved it', () => {
  const form = formOf(watchOf('failed'));
  const now = { ...watchOf('failed'), by: ['a', 'b'], path: 'other', paused: false };
  expect(bodyOf({ ...form, label: 'Mine' }, now)).toMatchObject({
    ...{ label: 'Mine', by: ['a', 'b'], path: 'other', paused: false },
  });
});
