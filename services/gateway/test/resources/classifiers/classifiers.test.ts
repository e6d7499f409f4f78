import { expect, it } from 'vitest';
import { createClassifierHandlers } from '../../../src/resources/classifiers/classifiers.ts';

it('trains under one event id for one idempotency key and body, and under none without a key', async () => {
  const eventIds: string[] = [];
  const ml = {
    train: async ({ eventId }: { eventId: string }) => {
      eventIds.push(eventId);
      return { classes: [] };
    },
  };
  const { train } = createClassifierHandlers({ upstreams: { ml } } as never);
  const call = (operationId: string | undefined, body: object) =>
    train({ params: { classifierId: 'c' }, body, operationId, context: {} } as never, {} as never);
  const one = { label: 'a', context: 'b' };
  await call('first', one);
  await call('first', { ...one });
  await call('second', one);
  await call('first', { ...one, context: 'c' });
  await call('first', { examples: [one] });
  await call(undefined, one);
  const [id, again, ...others] = eventIds;
  expect(again).toBe(id);
  expect(new Set([id, ...others]).size).toBe(5);
  expect(others.at(-1)).toBe('');
});
