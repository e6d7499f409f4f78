/** Finds the files of an embedded store by the settings of the hub. */

import { existsSync } from 'node:fs';
import { readCatalogConfig } from '@datahub/catalog/config';
import { CommandError } from '@datahub/cli/failure';
import { readMlConfig } from '@datahub/ml/config';
import { type Environment, readSettings } from '@datahub/service-kit/settings/settings';

export interface StoreFile {
  storeUrl: string;
  operatorSocket?: string | undefined;
}

export const fileOf = ({ storeUrl }: Pick<StoreFile, 'storeUrl'>) => storeUrl.slice('sqlite:'.length);

/** Throws with a message for the operator if there is no file, which would be made otherwise. */
export function requireFile(part: Pick<StoreFile, 'storeUrl'>): void {
  if (part.storeUrl.startsWith('mongodb') || existsSync(fileOf(part))) return;
  throw new CommandError(
    `There is no ${fileOf(part)}. Set DATAHUB_DATA_DIR or DATAHUB_STORE_URL to where the store is.`,
  );
}

/** Throws with a message for the operator if there is no file; `inMongodb` if the documents are in MongoDB. */
export function findFiles(env: Environment, inMongodb: string): { parts: StoreFile[]; present: StoreFile[] } {
  const parts: StoreFile[] = readSettings(env, (reader) => [readCatalogConfig(reader), readMlConfig(reader)]);
  if (parts.some(({ storeUrl }) => storeUrl.startsWith('mongodb'))) throw new Error(inMongodb);
  const present = parts.filter((part) => existsSync(fileOf(part)));
  if (present.length > 0) return { parts, present };
  throw new Error(
    `There is neither ${parts.map(fileOf).join(' nor ')}. Set DATAHUB_DATA_DIR or DATAHUB_STORE_URL to where they are.`,
  );
}
