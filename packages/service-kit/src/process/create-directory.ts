/** Creates the directories of the data directory. */

import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Creates a directory and those above it, for the owner only. Unlike Node's option `recursive`, it ends where the system
 * creates none, such as in `/proc`.
 */
export function createDirectory(path: string): void {
  const create = () => {
    try {
      mkdirSync(path, { mode: 0o700 });
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code !== 'EEXIST') throw err;
    }
  };
  try {
    create();
  } catch (err) {
    const parent = dirname(path);
    if ((err as NodeJS.ErrnoException).code !== 'ENOENT' || parent === path) throw err;
    createDirectory(parent);
    create();
  }
}
