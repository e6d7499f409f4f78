/** Writes timestamps of PostgreSQL's ISO style in ISO 8601. */

import { copyBytes, type FieldEncoder, type TextForm, writeQuoted, writeRaw } from './primitives.ts';

const quote = 0x22;
const letterC = 0x43;
const letterT = 0x54;
const letterZ = 0x5a;
const dash = 0x2d;
const point = 0x2e;
const space = 0x20;
const zero = 0x30;
/** Matches `2026-11-20 13:04:05` after the year. */
const afterYearBytes = 15;

/** Writes at least milliseconds. Infinity and years BC stay in the database's format. */
export function isoTimestampEncoder(hasZone: boolean, form: TextForm): FieldEncoder {
  // The session's time zone is UTC, so a timestamptz ends with +00.
  const tailBytes = hasZone ? 3 : 0;
  const isQuoted = form === 'json';
  const writeOther = isQuoted ? writeQuoted : writeRaw;
  return (out, source, start, end) => {
    let year = start + 4;
    while (year < start + 6 && source[year] !== dash) year++;
    const seconds = year + afterYearBytes;
    const stop = end - tailBytes;
    const fits = source[year] === dash && source[year + 6] === space && source[end - 1] !== letterC;
    if (!fits || (stop !== seconds && source[seconds] !== point)) {
      writeOther(out, source, start, end);
      return;
    }
    out.reserve(end - start + 8);
    if (isQuoted) out.buffer[out.position++] = quote;
    copyBytes(out, source, start, stop);
    const { buffer } = out;
    let at = out.position;
    buffer[at - (stop - year - 6)] = letterT;
    if (stop === seconds) buffer[at++] = point;
    for (let digits = Math.max(0, stop - seconds - 1); digits < 3; digits++) buffer[at++] = zero;
    if (hasZone) buffer[at++] = letterZ;
    if (isQuoted) buffer[at++] = quote;
    out.position = at;
  };
}
