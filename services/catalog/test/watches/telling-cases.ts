/** Tests of what watches tell, for every store. */

import type { TakenTick } from '@datahub/proto/catalog/v1/watches';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CatalogStore } from '../../src/store.ts';
import { everyTen, openCase } from './watch-fixture.ts';

export function describeTelling(name: string, open: () => Promise<CatalogStore>): void {
  describe(`what watches tell on ${name}`, () => {
    let at: Awaited<ReturnType<typeof openCase>>;
    beforeEach(async () => {
      at = await openCase(open);
    });
    afterEach(() => at.close());

    it('lists as many of the last events as are asked for, whatever is too young to be shown', async () => {
      const list = async (asked: { after?: string; newest?: boolean; limit: number }) => {
        const all = { after: '', newest: false, hubId: undefined, type: undefined };
        return (await at.calls.listEvents({ ...all, ...asked }, at.ctx())).events.map(
          ({ eventId }) => eventId,
        );
      };
      for (let watch = 0; watch < 4; watch++) await at.create(everyTen);
      at.wait(10);
      const fail = async (ticks: TakenTick[]) => {
        for (const tick of ticks) await at.end(tick, { outcome: 'failed' });
      };
      await fail(await at.take(2));
      at.wait(3);
      await fail(await at.take(2));
      const [first, second, third, fourth] = (await at.store.events.find({ accountId: 'a', limit: 9 })).map(
        ({ id }) => id,
      );
      expect(await list({ newest: true, limit: 1 })).toEqual([second]);
      expect(await list({ newest: true, limit: 9 })).toEqual([second, first]);
      expect(await list({ limit: 9 })).toEqual([first, second]);
      expect(await list({ after: second, limit: 9 })).toEqual([]);
      at.wait(2);
      expect(await list({ after: second, limit: 1 })).toEqual([third]);
      expect(await list({ newest: true, limit: 3 })).toEqual([fourth, third, second]);
    });
  });
}
