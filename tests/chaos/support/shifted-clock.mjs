/**
 * Preloaded into the programs of a hub: shifts their clocks. In the directory `CLOCK_DIR`, the file `gateway` is a JSON
 * array of milliseconds by which gateways are ahead: the first that starts is ahead by the first, and so on, again from
 * the beginning. It is read again and again, so that a test can set clocks while they run. Likewise for other services.
 */

import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isMainThread } from 'node:worker_threads';

const program = basename(dirname(dirname(process.argv[1] ?? '')));
const file = join(process.env.CLOCK_DIR ?? '', program);
const readEveryMs = 20;

if (isMainThread && existsSync(file)) {
  let start = 0;
  for (; ; start++) {
    try {
      mkdirSync(`${file}-${start}`);
      break;
    } catch (err) {
      if (err.code !== 'EEXIST') throw err;
    }
  }
  let shiftMs = 0;
  const read = () => {
    const shifts = JSON.parse(readFileSync(file, 'utf8'));
    shiftMs = shifts[start % shifts.length];
  };
  read();
  setInterval(read, readEveryMs).unref();
  const now = Date.now;
  Date.now = () => now() + shiftMs;
  globalThis.Date = new Proxy(Date, {
    construct: (target, args, made) =>
      Reflect.construct(target, args.length === 0 ? [Date.now()] : args, made),
  });
}
