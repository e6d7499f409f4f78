import { describe, expect, it } from 'vitest';
import { createSchedules, faultOfCron, isTimeZone, type Schedule } from '../../src/watches/schedule.ts';
import { spanOf } from '../../src/watches/watch-state.ts';

const schedules = createSchedules();

/** The ticks after a moment. */
function ticksOf(schedule: Schedule, from: string, count: number, watchId = 'test.wtch.1'): string[] {
  const next = schedules(watchId, schedule);
  const ticks: string[] = [];
  let at: number | null = Date.parse(from);
  for (let i = 0; i < count && at !== null; i++) {
    at = next(at);
    if (at !== null) ticks.push(new Date(at).toISOString().replace(':00.000Z', 'Z'));
  }
  return ticks;
}

const cronTicks = (cron: string, timeZone: string, from: string, count: number) =>
  ticksOf({ cron, timeZone, missed: 'skip' }, from, count);

/** Both changes of the clock in each zone, in UTC, and what a fixed time in the changed hour means there. */
const changes = [
  {
    zone: 'Europe/Berlin',
    forward: {
      at: '2026-03-29T01:00:00Z',
      fixed: '30 2 * * *',
      skipped: '2026-03-29T01:00Z',
      next: '2026-03-30T00:30Z',
    },
    back: {
      at: '2026-10-25T01:00:00Z',
      fixed: '30 2 * * *',
      first: '2026-10-25T00:30Z',
      next: '2026-10-26T01:30Z',
    },
  },
  {
    zone: 'America/New_York',
    forward: {
      at: '2026-03-08T07:00:00Z',
      fixed: '30 2 * * *',
      skipped: '2026-03-08T07:00Z',
      next: '2026-03-09T06:30Z',
    },
    back: {
      at: '2026-11-01T06:00:00Z',
      fixed: '30 1 * * *',
      first: '2026-11-01T05:30Z',
      next: '2026-11-02T06:30Z',
    },
  },
  {
    // By half an hour.
    zone: 'Australia/Lord_Howe',
    forward: {
      at: '2026-10-03T15:30:00Z',
      fixed: '15 2 * * *',
      skipped: '2026-10-03T15:30Z',
      next: '2026-10-04T15:15Z',
    },
    back: {
      at: '2026-04-04T15:00:00Z',
      fixed: '45 1 * * *',
      first: '2026-04-04T14:45Z',
      next: '2026-04-05T15:15Z',
    },
  },
  {
    // At midnight.
    zone: 'America/Santiago',
    forward: {
      at: '2026-09-06T04:00:00Z',
      fixed: '30 0 * * *',
      skipped: '2026-09-06T04:00Z',
      next: '2026-09-07T03:30Z',
    },
    back: {
      at: '2026-04-05T03:00:00Z',
      fixed: '30 23 * * *',
      first: '2026-04-05T02:30Z',
      next: '2026-04-06T03:30Z',
    },
  },
];

const hourMs = 3_600_000;
const before = (at: string, ms: number) => new Date(Date.parse(at) - ms).toISOString();

describe.each(changes)('in $zone', ({ zone, forward, back }) => {
  it('runs a fixed time that does not exist once, at the first time that does', () => {
    expect(cronTicks(forward.fixed, zone, before(forward.at, 2 * hourMs), 2)).toEqual([
      forward.skipped,
      forward.next,
    ]);
  });

  it('runs a fixed time that exists twice once, at its first occurrence', () => {
    expect(cronTicks(back.fixed, zone, before(back.at, 2 * hourMs), 2)).toEqual([back.first, back.next]);
  });

  it.each([forward.at, back.at])('runs */15 each quarter of an hour over the change at %s', (at) => {
    const from = Date.parse(at) - 2 * hourMs;
    const quarters = Array.from({ length: 16 }, (_, i) =>
      new Date(from + (i + 1) * 900_000).toISOString().replace(':00.000Z', 'Z'),
    );
    expect(cronTicks('*/15 * * * *', zone, new Date(from).toISOString(), 16)).toEqual(quarters);
  });
});

describe('schedules', () => {
  it('runs several fixed times that do not exist once, and a step of minutes in fixed hours once an hour', () => {
    expect(cronTicks('0,30 2 * * *', 'Europe/Berlin', '2026-03-28T21:00:00Z', 2)).toEqual([
      '2026-03-29T01:00Z',
      '2026-03-30T00:00Z',
    ]);
    expect(cronTicks('*/30 1-3 * * *', 'Europe/Berlin', '2026-10-24T23:00:00Z', 5)).toEqual([
      '2026-10-24T23:30Z',
      '2026-10-25T00:00Z',
      '2026-10-25T00:30Z',
      '2026-10-25T02:00Z',
      '2026-10-25T02:30Z',
    ]);
  });

  it('gives the same next tick from any moment before it', () => {
    const next = schedules('a', { cron: '*/7 * * * *', timeZone: 'Europe/Berlin', missed: 'skip' });
    for (const { back, forward } of changes)
      for (const at of [back.at, forward.at])
        for (let ms = -3 * hourMs; ms < 3 * hourMs; ms += 1_037_000) {
          const tick = next(Date.parse(at) + ms) as number;
          expect(next(tick - 1)).toBe(tick);
        }
  });

  it('costs no more near a change of the clock', () => {
    const next = schedules('a', { cron: '* * * * *', timeZone: 'Europe/Berlin', missed: 'skip' });
    const costOf = (from: number) => {
      const begun = process.cpuUsage();
      for (let tick = from; tick < from + 50 * 60_000; ) tick = next(tick) as number;
      const { user, system } = process.cpuUsage(begun);
      return user + system;
    };
    const least = (at: string) => Math.min(...Array.from({ length: 5 }, () => costOf(Date.parse(at))));
    const ordinary = least('2026-06-01T12:00:00Z');
    for (const at of ['2026-03-29T00:30:00Z', '2026-10-25T00:30:00Z'])
      expect(least(at) / ordinary).toBeLessThan(10);
  });

  it('counts ticks that were missed without holding up others', async () => {
    const slow = (after: number) => {
      for (const until = performance.now() + 1; performance.now() < until; );
      return after + 1;
    };
    let turns = 0;
    const count = () => {
      turns++;
      timer = setImmediate(count);
    };
    let timer = setImmediate(count);
    const { before: _, ...span } = await spanOf(slow, 1, 100);
    clearImmediate(timer);
    expect(span).toEqual({ first: 1, last: 100, ticks: 100 });
    expect(turns).toBeGreaterThan(10);
  });

  it.each([
    ['every 10 s', { everyS: 10 }, '2035-12-31T23:59:50.000Z', '2035-12-31T23:59:40.000Z'],
    [
      'each minute',
      { cron: '* * * * *', timeZone: 'UTC' },
      '2035-12-31T23:59:00.000Z',
      '2035-12-31T23:58:00.000Z',
    ],
    [
      'weekly',
      { cron: '0 6 * * 1', timeZone: 'UTC' },
      '2035-12-31T06:00:00.000Z',
      '2035-12-24T06:00:00.000Z',
    ],
    [
      'on one day',
      { cron: '*/2 0-9 1 6 *', timeZone: 'UTC' },
      '2035-06-01T09:58:00.000Z',
      '2035-06-01T09:56:00.000Z',
    ],
  ])('finds the last tick of years that were missed: %s', async (_, schedule, last, before) => {
    const next = schedules('test.wtch.1', { ...schedule, missed: 'once' } as Schedule);
    const first = next(Date.parse('2000-01-01T00:00:00Z')) as number;
    const span = await spanOf(next, first, Date.parse('2035-12-31T23:59:59Z'));
    expect([span.first, span.ticks]).toEqual([first, 1_000]);
    expect(new Date(span.last).toISOString()).toBe(last);
    expect(span.before && new Date(span.before.last).toISOString()).toBe(before);
  });

  it('finds 29 February and the 31st', () => {
    expect(cronTicks('0 6 29 2 *', 'UTC', '2026-01-01T00:00:00Z', 2)).toEqual([
      '2028-02-29T06:00Z',
      '2032-02-29T06:00Z',
    ]);
    expect(cronTicks('0 0 31 * *', 'Europe/Berlin', '2026-01-01T00:00:00Z', 4)).toEqual([
      '2026-01-30T23:00Z',
      '2026-03-30T22:00Z',
      '2026-05-30T22:00Z',
      '2026-07-30T22:00Z',
    ]);
  });

  it('runs every some seconds at whole multiples, whatever the clock shows', () => {
    expect(ticksOf({ everyS: 90, missed: 'skip' }, '2026-03-29T00:59:00Z', 3)).toEqual([
      '2026-03-29T01:00Z',
      '2026-03-29T01:01:30.000Z',
      '2026-03-29T01:03Z',
    ]);
  });

  it('spreads watches of one schedule over the time that is named, the same each time', () => {
    const daily = { cron: '0 6 * * *', timeZone: 'UTC', spreadS: 600, missed: 'skip' } as const;
    const first = Array.from({ length: 50 }, (_, i) =>
      Date.parse(ticksOf(daily, '2026-01-01T00:00:00Z', 1, `w${i}`)[0] as string),
    );
    const six = Date.parse('2026-01-01T06:00:00Z');
    expect(Math.min(...first)).toBeGreaterThanOrEqual(six);
    expect(Math.max(...first)).toBeLessThan(six + 600_000);
    expect(new Set(first).size).toBeGreaterThan(45);
    const [one, two] = ticksOf(daily, '2026-01-01T00:00:00Z', 2, 'w7').map(Date.parse);
    expect((two as number) - (one as number)).toBe(86_400_000);
  });

  it.each([
    ['* * * *', 'must have five fields'],
    ['* * * * * *', 'must have five fields'],
    ['61 * * * *', 'is not a cron pattern'],
    ['a b c d e', 'is not a cron pattern'],
    ['0 0 30 2 *', 'matches no time'],
  ])('refuses %s', (cron, fault) => {
    expect(faultOfCron(cron)).toContain(fault);
  });

  it.each(['0 6 * * 1-5', '*/15 * * * *', '0 0 31 * *', '0 6 29 2 *', '30 6 * JAN MON'])(
    'takes %s',
    (cron) => {
      expect(faultOfCron(cron)).toBeUndefined();
    },
  );

  it('knows time zones by their names', () => {
    expect(isTimeZone('Europe/Berlin')).toBe(true);
    expect(isTimeZone('Europe/Atlantis')).toBe(false);
  });
});
