/** Removes, at the first start over a store that older hubs wrote, the values of secret variables that boards keep. */

import { setImmediate as turnEnd } from 'node:timers/promises';
import type { Logger } from '@datahub/service-kit/telemetry/logger';
import { overtaken, untilWritten } from '../catalog.ts';
import type { BoardDoc } from '../documents.ts';
import { withoutSecrets } from '../secret-variables/kept-secrets.ts';
import type { CatalogStore } from '../store.ts';
import { scanAll } from './deletion-sweep.ts';

type Store = Pick<CatalogStore, 'accounts' | 'boards' | 'queries'>;

export async function removeSecretsOnce(
  store: Store,
  { logger, nowMs }: { logger: Pick<Logger, 'warn'>; nowMs: () => number },
): Promise<void> {
  const { accounts, boards } = store;
  const load = () => accounts.getUnique('name', 'first');
  if ((await load())?.secretsRemovedAt !== undefined) return;
  for await (const { accountId, id } of scanAll<BoardDoc>(boards)) {
    const isChanged = await untilWritten(async () => {
      const board = await boards.get(accountId, id);
      const next = board && (await withoutSecrets(store, board));
      if (next === board || next === null) return false;
      return (await boards.replace({ ...next, version: next.version + 1 })) || overtaken;
    });
    if (isChanged)
      logger.warn(
        { event: 'board.secrets', accountId, boardId: id },
        'the values of secret variables were removed from a board, which may not keep them',
      );
    await turnEnd();
  }
  await untilWritten(async () => {
    const first = await load();
    if (first === null) return;
    const marked = { ...first, secretsRemovedAt: nowMs(), version: first.version + 1 };
    return (await accounts.replace(marked)) ? undefined : overtaken;
  });
}
