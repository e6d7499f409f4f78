/**
 * When a watch runs: every some seconds, or by a cron pattern in a time zone. A pattern whose hours are `*` or a step follows
 * elapsed time: it matches each of two equal wall times, and none that does not exist. A pattern with fixed hours matches
 * each wall time once: a time that does not exist at the first one that does, and one that exists twice at its first
 * occurrence.
 */

import { createHash } from 'node:crypto';
import { Cron } from 'croner';
import { LRUCache } from 'lru-cache';
import { openTimeZone, type TimeZone } from './time-zone.ts';

export type Schedule = ({ everyS: number } | { cron: string; timeZone: string }) & {
  /** Each tick is later by a fixed part of this time, which depends on the id of the watch. */
  spreadS?: number;
  /** Whether one run makes up for ticks that nobody ran in time. */
  missed: 'skip' | 'once';
};

/** Returns the first tick after an instant; null if there is none. */
export type NextTick = (after: number) => number | null;

const fieldsOfCron = 5;

/** Returns the fault of a cron pattern; undefined if it is valid. */
export function faultOfCron(cron: string): string | undefined {
  if (cron.trim().split(/\s+/).length !== fieldsOfCron)
    return 'must have five fields: minute, hour, day of month, month, day of week';
  try {
    return openCron(cron).nextRun(new Date(0)) === null ? 'matches no time' : undefined;
  } catch {
    return 'is not a cron pattern; write it as in 30 6 * * 1-5';
  }
}

export const isTimeZone = (name: string): boolean => openTimeZone(name) !== undefined;

/** The pattern is matched with wall times, which are written as if they were UTC. */
const openCron = (cron: string) => new Cron(cron.trim(), { utcOffset: 0, mode: '5-part' });

export type Schedules = (watchId: string, schedule: Schedule) => NextTick;

/** Patterns and zones are costly to open, so the last ones are cached. */
export function createSchedules(): Schedules {
  const crons = new LRUCache<string, NextTick>({ max: 1_000 });
  const zones = new LRUCache<string, TimeZone>({ max: 100 });
  const zoneOf = (name: string) => {
    const zone = zones.get(name) ?? openTimeZone(name);
    if (zone !== undefined) zones.set(name, zone);
    return zone;
  };
  return (watchId, schedule) => {
    const spread = spreadOf(watchId, schedule.spreadS ?? 0);
    if ('everyS' in schedule) {
      const everyMs = schedule.everyS * 1_000;
      return (after) => (Math.floor((after - spread) / everyMs) + 1) * everyMs + spread;
    }
    const name = `${schedule.timeZone} ${schedule.cron}`;
    const next = crons.get(name) ?? createCronTicks(schedule.cron, zoneOf(schedule.timeZone));
    crons.set(name, next);
    return (after) => {
      const tick = next(after - spread);
      return tick === null ? null : tick + spread;
    };
  };
}

/** In whole milliseconds, so that watches of one pattern start at different moments. */
function spreadOf(watchId: string, spreadS: number): number {
  const share = createHash('sha256').update(watchId).digest().readUInt32BE() / 2 ** 32;
  return Math.floor(share * spreadS * 1_000);
}

function createCronTicks(pattern: string, zone: TimeZone | undefined): NextTick {
  const cron = openCron(pattern);
  if (zone === undefined) return () => null;
  const nextWall = (after: number) => cron.nextRun(new Date(after))?.getTime() ?? null;
  const hours = pattern.trim().split(/\s+/)[1] ?? '*';
  return hours.startsWith('*') ? elapsedTicks(zone, nextWall) : fixedTicks(zone, nextWall);
}

type NextWall = (after: number) => number | null;

function fixedTicks(zone: TimeZone, nextWall: NextWall): NextTick {
  return (after) => {
    // Wall times in order give ticks in order, so the first later one is the next.
    for (let wall = nextWall(zone.wallAt(after)); wall !== null; wall = nextWall(wall)) {
      const [first = zone.endOfGap(wall)] = zone.instantsOf(wall);
      if (first > after) return first;
    }
    return null;
  };
}

function elapsedTicks(zone: TimeZone, nextWall: NextWall): NextTick {
  return (after) => {
    let period = zone.periodAt(after);
    let wall = nextWall(after + period.offset);
    while (wall !== null && wall - period.offset >= period.until) {
      const { offset } = period;
      const from = period.until;
      period = zone.periodAt(from);
      if (period.offset !== offset) wall = nextWall(from - 1 + period.offset);
    }
    return wall && wall - period.offset;
  };
}
