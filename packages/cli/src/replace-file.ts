/** Writes files so that an interruption, or a full disk, leaves what was there before. */

import { rename, rm, stat, writeFile } from 'node:fs/promises';

export async function replaceFile(path: string, text: string): Promise<void> {
  const mode = await stat(path).then(
    (found) => found.mode,
    () => undefined,
  );
  // No command reads a file with this ending.
  const draft = `${path}.${process.pid}~`;
  try {
    await writeFile(draft, text, { mode });
    await rename(draft, path);
  } catch (err) {
    await rm(draft, { force: true });
    throw err;
  }
}
