/**
 * `npm run datahub -- store forget-credentials`: removes the credentials that the present sealing keys do not open, for a
 * hub whose keys are lost.
 */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readCatalogConfig } from '@datahub/catalog/config';
import { type Forgotten, forgetCredentials } from '@datahub/catalog/maintenance/forget-credentials';
import { openCatalogStore } from '@datahub/catalog/store';
import { isSet, type Run } from '@datahub/cli/command';
import { print, printJson } from '@datahub/cli/output';
import { parseKey, readKeyFile } from '@datahub/sealing/key-pair';
import { createIdFactory } from '@datahub/service-kit/id';
import { readSettings } from '@datahub/service-kit/settings/settings';
import { requireFile } from './store-files.ts';

export const runForgetCredentials: Run = async (input, context) => {
  const { config, keyFiles, keys } = readSettings(context.env, (reader) => ({
    config: readCatalogConfig(reader),
    keyFiles: [
      join(reader.text('DATAHUB_DATA_DIR'), 'sealing-keys'),
      reader.optional('DATAHUB_SEALING_KEY_FILE') ?? '',
    ],
    keys: [...reader.list('DATAHUB_SEALING_PUBLIC_KEYS'), ...reader.list('DATAHUB_SEALING_PRIVATE_KEYS')],
  }));
  const { storeUrl, namespace } = config;
  requireFile(config);
  const present = await Promise.all(keyFiles.filter(existsSync).map(readKeyFile));
  const keyIds = new Set([...present.flat(), ...keys].map((key) => parseKey(key).id));
  const removes = isSet(input, 'yes');
  const store = await openCatalogStore(storeUrl);
  try {
    const createId = createIdFactory({ namespace });
    const forgotten = await forgetCredentials(store, { keyIds, removes, createId, nowMs: Date.now });
    if (context.json) return printJson(context, { removed: removes, keyIds: [...keyIds], forgotten });
    print(context, describe(forgotten, { removes, keyIds }));
  } finally {
    await store.close();
  }
};

function describe(
  forgotten: readonly Forgotten[],
  { removes, keyIds }: { removes: boolean; keyIds: ReadonlySet<string> },
): string {
  const keys =
    keyIds.size === 0 ? 'There is no sealing key.' : `The sealing keys: ${[...keyIds].join(', ')}.`;
  if (forgotten.length === 0) return `${keys} They open all stored credentials, so nothing was removed.`;
  const lines = forgotten.map(
    ({ kind, id, label, hub }) =>
      `  ${kind} ${id} "${label}"${hub === undefined ? '' : ` of the hub "${hub}"`}`,
  );
  const head = removes
    ? 'Removed the credentials of these. Set user and password of each source again, and rotate the secret of each destination:'
    : `${keys} No key opens the credentials of these. Run the command again with --yes to remove them:`;
  return [head, ...lines].join('\n');
}
