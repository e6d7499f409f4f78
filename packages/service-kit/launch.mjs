/**
 * Starts a program of the hub with V8's flags: `node packages/service-kit/launch.mjs PROGRAM [ARGUMENT…]`. The program
 * replaces this process where the system allows it (not on Windows), so it keeps the process id and receives every signal.
 */

import { spawn } from 'node:child_process';
import { compileCache } from './compile-cache.mjs';
import { withCredentials } from './credentials.mjs';
import { requireNode } from './require-node.mjs';
import { v8Flags } from './v8-flags.mjs';

requireNode();

const env = { NODE_COMPILE_CACHE: compileCache, ...withCredentials(process.env) };
const args = [...v8Flags, ...process.argv.slice(2)];
if (process.platform === 'win32' || process.execve === undefined) {
  const child = spawn(process.execPath, args, { env, stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code) => process.exit(code ?? 1));
} else {
  process.execve(process.execPath, [process.execPath, ...args], env);
}
