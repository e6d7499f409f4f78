/**
 * Loaded into a hub with `--import`: at the signal SIGUSR2 it collects the garbage, and writes how many bytes are held
 * to the file in HELD_MEMORY_FILE.
 */

import { renameSync, writeFileSync } from 'node:fs';
import { heldBytes } from '../../support/memory.ts';

const file = process.env.HELD_MEMORY_FILE as string;
process.on('SIGUSR2', () => {
  writeFileSync(`${file}.part`, String(heldBytes()));
  renameSync(`${file}.part`, file);
});
