import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ByteWriter } from '../../src/result/values/primitives.ts';
import { SerialTime } from '../../src/result/xlsx/serial-time.ts';

const time = new SerialTime();
const dayMs = 86_400_000;
const epochDay = 25_569;

/** What a spreadsheet reads; undefined for what stays a text. */
function written(text: string): string | undefined {
  const bytes = Buffer.from(text);
  if (!time.read(bytes, 0, bytes.length)) return undefined;
  const out = new ByteWriter();
  time.write(out);
  return out.buffer.toString('latin1', 0, out.position);
}

/** In microseconds since 1970, to the unit. */
function readBack(serial: string, unit: number): bigint {
  const days = Math.floor(Number(serial));
  const micros = Math.round(((Number(serial) - days) * dayMs * 1_000) / unit) * unit;
  return BigInt(days - epochDay) * BigInt(dayMs * 1_000) + BigInt(micros);
}

const moments = fc.tuple(
  fc.integer({ min: Date.UTC(1900, 2, 1), max: Date.UTC(9999, 11, 31, 23, 59, 59) }),
  fc.integer({ min: 0, max: 999_999 }),
);

it('writes each moment as the number that a spreadsheet reads back', () => {
  fc.assert(
    fc.property(moments, fc.boolean(), ([ms, fraction], isWhole) => {
      const seconds = Math.floor(ms / 1_000);
      const micros = isWhole ? fraction - (fraction % 1_000) : fraction;
      const text = `${new Date(seconds * 1_000).toISOString().slice(0, 19)}.${String(micros).padStart(6, '0')}Z`;
      const serial = written(text);
      if (serial === undefined) {
        expect([isWhole, text > '2079-06-06']).toEqual([false, true]);
        return;
      }
      expect(serial.replace('.', '').length).toBeLessThanOrEqual(17);
      const unit = micros % 1_000 === 0 ? 1_000 : 1;
      expect([text, readBack(serial, unit)]).toEqual([text, BigInt(seconds) * 1_000_000n + BigInt(micros)]);
    }),
    { numRuns: 20_000 },
  );
});

it.each([
  ['1900-03-01', '61'],
  ['2024-02-29', '45351'],
  ['9999-12-31', '2958465'],
  ['2026-11-28T12:00:00.000', '46354.5'],
  ['2026-11-28T00:00:00.000', '46354'],
  ['2026-11-28T23:59:59.999999Z', '46354.999999999988'],
  ['1900-02-28', undefined],
  ['2026-02-31', undefined],
  ['2026-00-00', undefined],
  ['9999-12-31T23:59:59.999999', undefined],
  ['10000-01-01', undefined],
  ['0044-03-15 BC', undefined],
  ['infinity', undefined],
  ['2026-11-28T12:00', undefined],
  ['2026-11-28 12:00:00', undefined],
  ['2026-11-28T12:00:00+02', undefined],
  ['2026-11-28T12:00:00.', undefined],
  ['2026-1a-28', undefined],
])('writes %s as %s', (text, serial) => {
  expect(written(text)).toBe(serial);
});
