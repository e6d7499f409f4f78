import { expect, it } from 'vitest';
import { createHolding } from '../../../src/execution/transactions/answer-bytes.ts';

const most = 4 * 1_048_576;

it('refuses more than 4 MiB of one transaction, and 64 MiB of one account', async () => {
  const hold = createHolding();
  await expect(hold('a', async (bytes) => bytes.add(most + 1))).rejects.toMatchObject({
    code: 'RESULT_TOO_LARGE',
  });
  const { promise: committed, resolve: commit } = Promise.withResolvers<void>();
  const holdMost = (accountId: string, end?: Promise<void>) =>
    hold(accountId, async (bytes) => {
      bytes.add(most);
      await end;
    });
  const waiting = Array.from({ length: 16 }, () => holdMost('a', committed));
  await expect(hold('a', async (bytes) => bytes.add(1))).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: 'Too many answers of transactions of this account wait for their COMMIT. Try again later.',
    retryable: true,
  });
  await holdMost('b');
  commit();
  await Promise.all(waiting);
  await holdMost('a');
});
