/** Checks a file that nobody writes, in a thread of its own, because SQLite reads all of it without a pause. */

import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';

/** `ok`, or the first fault. */
function check(path: string): unknown {
  const url = pathToFileURL(path);
  // Without a log beside the file.
  url.searchParams.set('immutable', '1');
  const db = new DatabaseSync(url, { readOnly: true });
  try {
    return Object.values(db.prepare('PRAGMA integrity_check(1)').get() ?? {})[0];
  } catch (err) {
    return (err as Error).message;
  } finally {
    db.close();
  }
}

parentPort?.postMessage(check(String(workerData)));
