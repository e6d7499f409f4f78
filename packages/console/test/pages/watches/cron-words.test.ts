import { expect, it } from 'vitest';
import { cronWords } from '../../../src/pages/watches/cron-words.ts';

it.each([
  ['30 6 * * 1-5', 'at 06:30 from Monday to Friday'],
  ['0 6 * * *', 'at 06:00 every day'],
  ['5 8,17 * * *', 'at 08:05, 17:05 every day'],
  ['15 * * * *', '15 min after each hour every day'],
  ['0 0 1 * *', 'at 00:00 on day 1 of the month'],
  ['0 12 * * sat,sun', 'at 12:00 on Saturday, Sunday'],
  ['0 12 * * 7', 'at 12:00 on Sunday'],
])('writes %s as “%s”', (cron, words) => expect(cronWords(cron)).toBe(words));

it.each([
  '*/5 * * * *',
  '0 6 * 1 *',
  '0 6 1 * 1',
  '0 6 * * 1-5,7',
  '0 25 * * *',
  '0 6 * * 1#2',
  '0 0 6 * * *',
])('leaves %s as it is', (cron) => expect(cronWords(cron)).toBeUndefined());
