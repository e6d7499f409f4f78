/** `npm run datahub -- store compact`: writes the files of an embedded store anew, without their free space. */

import type { Run } from '@datahub/cli/command';
import { print, printJson } from '@datahub/cli/output';
import { compactSqliteFile } from '@datahub/document-store/sqlite/compact';
import { fileOf, findFiles } from './store-files.ts';

const inMongodb = 'The documents are in MongoDB, which reuses the space of deleted ones itself.';
const toMebibytes = (bytes: number) => `${(bytes / 1_048_576).toFixed(1)} MiB`;

export const runCompact: Run = async (_input, context) => {
  const compacted: { file: string; bytesBefore: number; bytesAfter: number }[] = [];
  for (const part of findFiles(context.env, inMongodb).present) {
    const file = fileOf(part);
    const sizes = await compactSqliteFile(file);
    compacted.push({ file, ...sizes });
    if (!context.json)
      print(context, `${file}: ${toMebibytes(sizes.bytesBefore)} → ${toMebibytes(sizes.bytesAfter)}`);
  }
  if (context.json) printJson(context, compacted);
};
