import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Route } from '../../../services/gateway/src/http/route.ts';
import { scaled } from '../../support/scale.ts';
import type { ToCall } from './calls.ts';
import { fixtures } from './fixtures.ts';
import { createMeasure, type Measured } from './measure.ts';
import { payloads, type Shape, shapes } from './payloads.ts';
import { type Prepared, prepare } from './prepared.ts';
import { quick } from './quick.ts';
import { routes } from './reached.ts';
import { bodyWith, type Path, spotsOf } from './spots.ts';

/** For routes whose bodies may be larger. */
const largeBytes = 8_388_608;
/** Most members of a body have one type, and are refused as soon as it is seen. */
const mismatched: readonly Shape[] = ['members', 'strings', 'long'];
const isMain = (spot: Path, spots: readonly Path[]) =>
  spot.length === 0 || spot[0] === 'unknown' || spot.at(-1) === 'value' || spots.includes(spot);

it('every route has fixtures at its bounds', () => {
  expect(Object.keys(fixtures).sort()).toEqual([...routes.keys()].sort());
  for (const [name, { body, method }] of routes) {
    const { base, stored } = fixtures[name] ?? {};
    const needsBase = body !== undefined && method !== 'DELETE';
    expect([name, base !== undefined || (!needsBase && stored !== undefined)]).toEqual([name, true]);
  }
});

describe.skipIf(process.env.POSTGRES_URL === undefined)(
  'no call holds the process (needs POSTGRES_URL)',
  () => {
    let prepared: Prepared;
    beforeAll(async () => {
      prepared = await prepare();
    });
    afterAll(() => prepared?.close());

    /** Sends the payloads in the places of the body. The body itself must be accepted. */
    async function measureSent(name: string, measure: ReturnType<typeof createMeasure>): Promise<void> {
      const { base, spots = [], headers = {}, status = 200 } = fixtures[name] ?? {};
      if (base === undefined) return;
      const { body: schema = {}, path: pattern, largeBody } = routes.get(name) as Route;
      const path =
        fixtures[name]?.path?.(prepared) ?? pattern.replace(/:(\w+)/g, (_, id) => prepared.ids[id] ?? 'none');
      const valid = base(prepared);
      const accepted = await measure.alone('sent', { path, body: JSON.stringify(valid), headers });
      expect(accepted).toMatchObject({ name: `${name}: sent`, status });
      const all = [...spotsOf(schema), ...spots];
      for (const spot of scaled(quick[name]?.spots ?? [], all))
        for (const shape of scaled(quick[name]?.shapes ?? [], isMain(spot, spots) ? shapes : mismatched)) {
          const payload = payloads[shape](largeBody ? largeBytes : undefined);
          const body = bodyWith(valid, spot, payload);
          await measure.alone(`${shape} at /${spot.join('/')}`, { path, body, headers });
        }
    }

    async function measureStored(name: string, measure: ReturnType<typeof createMeasure>): Promise<void> {
      const wanted = scaled(quick[name]?.stored, undefined);
      const together = scaled(quick[name]?.together, true);
      const cases: [string, ToCall][] = Object.entries(fixtures[name]?.stored?.(prepared) ?? {});
      for (const [which, toCall] of cases) {
        if (wanted?.includes(which) === false) continue;
        const isTogether = together === true || together?.includes(which);
        const found = await measure[isTogether ? 'together' : 'alone'](which, toCall);
        const status = which.startsWith('absent') ? 404 : which.startsWith('refused') ? 422 : 200;
        expect(found).toMatchObject({ name: `${name}: ${which}`, status });
      }
    }

    it.each(scaled(Object.keys(quick), [...routes.keys()]))('%s', async (name) => {
      const found: Measured[] = [];
      const measure = createMeasure(name, { ...prepared, found });
      await measureSent(name, measure);
      await measureStored(name, measure);
      if (scaled(false, true)) console.log(found.toSorted((a, b) => b.ms - a.ms).slice(0, 3));
      expect(found.filter(({ isWithin }) => !isWithin)).toEqual([]);
    });
  },
);
