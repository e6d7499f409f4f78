/** Keeps a hub on one machine from starting without its classifiers in silence, because the file of ml was lost. */

import { statSync } from 'node:fs';
import { HubError } from '@datahub/service-kit/call/error';
import { overtaken, untilWritten } from '../catalog.ts';
import type { CatalogStore } from '../store.ts';

export interface MlFile {
  /** Throws if ml had a file when the hub last ran, and has none, or an empty one, now. */
  require(storeUrl: string): Promise<void>;
  /** Remembers that ml has a file. */
  remember(): Promise<void>;
}

export function createMlFile({ accounts }: Pick<CatalogStore, 'accounts'>): MlFile {
  const load = () => accounts.getUnique('name', 'first');
  return {
    require: async (storeUrl) => {
      const path = storeUrl.slice('sqlite:'.length);
      if (!storeUrl.startsWith('sqlite:') || path === ':memory:') return;
      const size = statSync(path, { throwIfNoEntry: false })?.size ?? -1;
      if (size > 0 || (await load())?.hasMl === undefined) return;
      throw new HubError(
        'UNAVAILABLE',
        `${path} is ${size === 0 ? 'empty' : 'missing'}, so the classifiers of the hub are lost. Put it back, or restore a backup of both files. To go on without classifiers, start and stop \`npm run start:ml\` once, which makes the file.`,
        { retryable: false },
      );
    },
    remember: () =>
      untilWritten(async () => {
        const first = await load();
        if (first === null || first.hasMl === 1) return;
        if (!(await accounts.replace({ ...first, hasMl: 1, version: first.version + 1 }))) return overtaken;
        // A hub starts on a full disk, too.
      }).catch(() => {}),
  };
}
