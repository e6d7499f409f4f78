/** Converts between instants and the time on the wall in a zone, from the zones that the JavaScript engine knows. */

import { LRUCache } from 'lru-cache';

export interface TimeZone {
  /** What the time on the wall is ahead of UTC at an instant, and a later instant up to which that stays so. */
  periodAt(instant: number): { offset: number; until: number };
  /** The wall time of an instant, in milliseconds as if it were UTC. */
  wallAt(instant: number): number;
  /** The instants with this wall time, in order: two if the clock is set back over it, none if it is set forward over it. */
  instantsOf(wall: number): number[];
  /** The first instant after a wall time that does not exist. */
  endOfGap(wall: number): number;
}

const dayMs = 86_400_000;
const weekMs = 7 * dayMs;
/** Kept of a zone: patterns are matched near the present, and asking the engine takes a hundred times as long. */
const weeksMax = 64;

/** A clock is set at most once in a week. */
interface Week {
  before: number;
  /** When the clock is set; the end of the week if it is not. */
  at: number;
  after: number;
}

/** Undefined if there is no such zone. */
export function openTimeZone(name: string): TimeZone | undefined {
  const format = createFormat(name);
  if (format === undefined) return undefined;
  const weeks = new LRUCache<number, Week>({ max: weeksMax });
  const periodAt = (instant: number) => {
    const start = instant - (((instant % weekMs) + weekMs) % weekMs);
    const week = weeks.get(start) ?? readWeek(format, start);
    weeks.set(start, week);
    const { before, at, after } = week;
    return instant < at ? { offset: before, until: at } : { offset: after, until: start + weekMs };
  };
  const offsetAt = (instant: number) => periodAt(instant).offset;
  const wallAt = (instant: number) => instant + offsetAt(instant);
  /** The offsets around a wall time, the earlier one first. No offset is as long as a day. */
  const offsetsAround = (wall: number) => [offsetAt(wall - dayMs), offsetAt(wall + dayMs)] as const;
  return {
    periodAt,
    wallAt,
    instantsOf: (wall) => {
      const instants = offsetsAround(wall).map((offset) => wall - offset);
      return [...new Set(instants)].filter((instant) => wallAt(instant) === wall).sort((a, b) => a - b);
    },
    endOfGap: (wall) => {
      const [before, after] = offsetsAround(wall);
      // The clock is set forward between these two instants.
      return firstInstant(wall - after, wall - before, (instant) => offsetAt(instant) !== before);
    },
  };
}

function readWeek(format: Intl.DateTimeFormat, start: number): Week {
  const end = start + weekMs;
  const [before, after] = [readOffset(format, start), readOffset(format, end)];
  if (before === after) return { before, at: end, after };
  return { before, at: firstInstant(start, end, (one) => readOffset(format, one) !== before), after };
}

/** The first instant after `low`, and at most `high`, that `isAfter` holds for, as for all later ones. */
function firstInstant(low: number, high: number, isAfter: (instant: number) => boolean): number {
  let [below, found] = [low, high];
  while (found - below > 1) {
    const middle = Math.floor((below + found) / 2);
    if (isAfter(middle)) found = middle;
    else below = middle;
  }
  return found;
}

function readOffset(format: Intl.DateTimeFormat, instant: number): number {
  // The parts have whole seconds.
  const second = Math.floor(instant / 1_000) * 1_000;
  const parts = format.formatToParts(second);
  const part = (type: string) => Number(parts.find((one) => one.type === type)?.value);
  const [year, month, day] = [part('year'), part('month') - 1, part('day')];
  return Date.UTC(year, month, day, part('hour'), part('minute'), part('second')) - second;
}

function createFormat(timeZone: string): Intl.DateTimeFormat | undefined {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  } catch {
    return undefined;
  }
}
