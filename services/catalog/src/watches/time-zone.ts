/** Converts between instants and the time on the wall in a zone, from the zones that the JavaScript engine knows. */

export interface TimeZone {
  /** The wall time of an instant, in milliseconds as if it were UTC. */
  wallAt(instant: number): number;
  /** The instants with this wall time, in order: two if the clock is set back over it, none if it is set forward over it. */
  instantsOf(wall: number): number[];
  /** The first instant after a wall time that does not exist. */
  endOfGap(wall: number): number;
}

const dayMs = 86_400_000;

/** Undefined if there is no such zone. */
export function openTimeZone(name: string): TimeZone | undefined {
  const format = createFormat(name);
  if (format === undefined) return undefined;
  const wallAt = (instant: number) => {
    // The parts have whole seconds.
    const milliseconds = ((instant % 1_000) + 1_000) % 1_000;
    const parts = format.formatToParts(instant - milliseconds);
    const part = (type: string) => Number(parts.find((one) => one.type === type)?.value);
    const wall = Date.UTC(
      part('year'),
      part('month') - 1,
      part('day'),
      part('hour'),
      part('minute'),
      part('second'),
    );
    return wall + milliseconds;
  };
  const offsetAt = (instant: number) => wallAt(instant) - instant;
  /** The offsets around a wall time, the earlier one first. No offset is as long as a day. */
  const offsetsAround = (wall: number) => [offsetAt(wall - dayMs), offsetAt(wall + dayMs)] as const;
  return {
    wallAt,
    instantsOf: (wall) => {
      const instants = offsetsAround(wall).map((offset) => wall - offset);
      return [...new Set(instants)].filter((instant) => wallAt(instant) === wall).sort((a, b) => a - b);
    },
    endOfGap: (wall) => {
      const [before, after] = offsetsAround(wall);
      // The clock is set forward between these two instants.
      let [low, high] = [wall - after, wall - before];
      while (high - low > 1) {
        const middle = Math.floor((low + high) / 2);
        if (offsetAt(middle) === before) low = middle;
        else high = middle;
      }
      return high;
    },
  };
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
