/** Commands that only the program with the hub's store runs. */

import type { Command } from '../command.ts';

export const backup: Command = {
  name: 'backup',
  arguments: 'DIRECTORY',
  summary: 'Copies the files of a hub over SQLite into a directory, also while the hub runs.',
  options: { overwrite: { type: 'boolean', help: 'Replace an older backup.' } },
  completes: 'files',
  operators: 'it needs the data directory of the hub.',
};

export const sealingKeys: Command = {
  name: 'sealing-keys',
  summary: 'Prints a new pair of sealing keys.',
  operators: 'it creates keys for the settings of a hub.',
};

export const compact: Command = {
  name: 'store compact',
  summary:
    'Writes the files of a hub over SQLite anew, without the space of deleted documents. It needs as much free space as the files have.',
  operators: 'it needs the data directory of the hub, which must not run.',
};

export const forgetCredentials: Command = {
  name: 'store forget-credentials',
  summary:
    'Lists the stored credentials that no sealing key of the hub opens; with `--yes` removes them, so that a hub that lost its keys starts. Everything else stays.',
  options: { yes: { type: 'boolean', help: 'Remove them. Without it, nothing is changed.' } },
  operators: 'it needs the store of the hub, and a hub over SQLite must not run.',
};
