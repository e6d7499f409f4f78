/**
 * `npm run bench [-- name … [--option …]]`: runs all benches in sequence, or the named ones, with database servers of its
 * own. The benches get the options.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { startDatabases } from '../tools/databases.ts';

const all = [
  'store',
  'key-check',
  'statistics',
  'start',
  'idle',
  'small-execution',
  'half-rate',
  'rest',
  'cached-read',
  'edge',
  'rows',
  'arrow',
  'annotate',
  'console',
  'console-page',
  'tenants',
  'watches',
  'budget',
  'ledger',
  'workers',
  'public',
  'scale/catalog',
  'scale/held-sources',
  'scale/usage',
  'ml/classify',
  'ml/service',
  'ml/summaries',
  'ml/tenants',
];
const needServers = new Set([
  'small-execution',
  'cached-read',
  'half-rate',
  'rest',
  'edge',
  'rows',
  'arrow',
  'annotate',
  'console',
  'console-page',
  'tenants',
  'watches',
  'budget',
  'ledger',
  'workers',
  'public',
  'scale/catalog',
  'scale/held-sources',
]);

const args = process.argv.slice(2);
const firstOption = args.findIndex((arg) => arg.startsWith('--'));
const asked = firstOption < 0 ? args : args.slice(0, firstOption);
const options = firstOption < 0 ? [] : args.slice(firstOption);
if (options.includes('--help')) {
  process.stdout.write(`npm run bench [-- name … [--option …]]\n\nThe benches: ${all.join(', ')}.\n`);
  process.exit();
}
const unknown = asked.filter((name) => !all.includes(name));
if (unknown.length > 0) {
  process.stderr.write(`There is no bench ${unknown.join(', ')}. There are: ${all.join(', ')}.\n`);
  process.exit(2);
}
const names = asked.length > 0 ? asked : all;
const say = (line: string) => process.stdout.write(`· ${line}\n`);
const databases = names.some((name) => needServers.has(name)) ? await startDatabases({ say }) : undefined;
for (const line of databases?.missing ?? []) say(line);
try {
  for (const [i, name] of names.entries()) {
    say(`${name} (${i + 1} of ${names.length})`);
    const path = fileURLToPath(new URL(`${name}.ts`, import.meta.url));
    const env = { ...process.env, ...databases?.env };
    const child = spawn(process.execPath, [path, ...options], { stdio: 'inherit', env });
    const [code] = await once(child, 'close');
    if (code !== 0) process.exitCode = 1;
  }
} finally {
  await databases?.close();
}
