import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';

/** Space beside the store that only urgent writes may use on a full disk. */
export interface Reserve {
  /** Frees the space during `work`, and takes it again after it. */
  spend<R>(work: () => R): R;
  /** Takes what is missing of the space, as far as the disk has it. */
  fill(): void;
}

/** A delete of a document with its entry in the audit log writes about 20 pages of 4 KiB, first to the log. */
const reserveBytes = 262_144;

/** Only for the process that has locked the database. */
export function openReserve(path: string): Reserve {
  const file = `${path}-reserve`;
  let isFull = false;
  const fill = (): void => {
    if (isFull) return;
    try {
      // Random, because a file system may compress it. The mode applies to a new file only.
      writeFileSync(file, randomBytes(reserveBytes), { mode: 0o600 });
      isFull = true;
    } catch {
      // It is smaller until there is space.
    }
  };
  return {
    spend(work) {
      rmSync(file, { force: true });
      isFull = false;
      try {
        return work();
      } finally {
        fill();
      }
    },
    fill,
  };
}

export const noReserve: Reserve = { spend: (work) => work(), fill: () => {} };
