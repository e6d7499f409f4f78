/** A disk of a few megabytes that can be filled: only root can make one, and only on Linux. */

import { execFileSync } from 'node:child_process';
import { closeSync, fstatSync, ftruncateSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface SmallDisk {
  path: string;
  /** Takes all the room there is but for so many pages of 4 KiB. */
  fill(pagesLeft?: number): void;
  /** Gives it back. */
  free(): void;
  close(): void;
}

const pageBytes = 4_096;

export const hasSmallDisks = process.platform === 'linux' && process.getuid?.() === 0 && canMount();

export function openSmallDisk(megabytes: number): SmallDisk {
  const path = mkdtempSync(join(tmpdir(), 'datahub-small-disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', path]);
  const filler = join(path, 'filler');
  const free = () => rmSync(filler, { force: true });
  return {
    path,
    fill(pagesLeft = 0) {
      const fd = openSync(filler, 'a');
      for (const size of [16 * pageBytes, pageBytes]) {
        try {
          for (;;) writeSync(fd, Buffer.alloc(size));
        } catch (err) {
          if ((err as NodeJS.ErrnoException).code !== 'ENOSPC') throw err;
        }
      }
      ftruncateSync(fd, Math.max(0, fstatSync(fd).size - pagesLeft * pageBytes));
      closeSync(fd);
    },
    free,
    close() {
      free();
      // What still holds a file open there keeps the disk, not the test.
      execFileSync('umount', ['-l', path]);
      rmSync(path, { recursive: true, force: true });
    },
  };
}

function canMount(): boolean {
  const path = mkdtempSync(join(tmpdir(), 'datahub-small-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', path], { stdio: 'ignore' });
    execFileSync('umount', [path], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  } finally {
    rmSync(path, { recursive: true, force: true });
  }
}
