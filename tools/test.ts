/**
 * `npm test`: fast tests first, while the servers start beside them; then what needs the servers. Its last line is
 * `N passed, N failed, N skipped`. Arguments are passed on to vitest, as in `npm test -- hubs`.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startDatabases } from './databases.ts';

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

const root = fileURLToPath(new URL('..', import.meta.url));
const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url));
const say = (line: string) => process.stdout.write(`· ${line}\n`);

async function runVitest(projects: string[], extra: string[], env: NodeJS.ProcessEnv): Promise<Counts> {
  const dir = await mkdtemp(join(tmpdir(), 'datahub-report-'));
  const report = join(dir, 'report.json');
  const args = ['run', ...projects.map((name) => `--project=${name}`), '--passWithNoTests', ...extra];
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const child = spawn(process.execPath, [vitest, ...args, ...reporters], {
    cwd: root,
    stdio: 'inherit',
    env,
  });
  const [code] = await once(child, 'close');
  const text = await readFile(report, 'utf8').catch(() => '{}');
  await rm(dir, { recursive: true, force: true });
  const { numPassedTests = 0, numFailedTests = 0, numPendingTests = 0, numTodoTests = 0 } = JSON.parse(text);
  // A file that cannot even be loaded, or a broken set-up, fails no test but the run.
  const failed = code !== 0 && numFailedTests === 0 ? 1 : numFailedTests;
  return { passed: numPassedTests, failed, skipped: numPendingTests + numTodoTests };
}

const everything = process.argv.includes('--everything');
const extra = process.argv.slice(2).filter((argument) => argument !== '--everything');
const starting = startDatabases({ say });
const stop = async () => {
  await starting.then((databases) => databases.close());
  process.exit(1);
};
process.on('SIGINT', stop);
process.on('SIGTERM', stop);

const counts = [await runVitest(['unit'], extra, process.env)];
const databases = await starting;
const env = { ...process.env, ...databases.env };
const hasMongodb = databases.env.MONGODB_URL !== undefined;
// Form and store in pairs; `npm run test:all` takes every combination.
const mongo = hasMongodb ? ['e2e-distributed'] : ['e2e-distributed-sqlite'];
const others = hasMongodb && everything ? ['e2e-distributed-sqlite', 'e2e-single-mongodb'] : [];
try {
  counts.push(await runVitest(['servers', 'chaos', 'e2e-single', ...mongo, ...others], extra, env));
} finally {
  await databases.close();
}
for (const line of databases.missing) say(`skipped: ${line}`);
const sum = (name: keyof Counts) => counts.reduce((total, one) => total + one[name], 0);
process.stdout.write(`${sum('passed')} passed, ${sum('failed')} failed, ${sum('skipped')} skipped\n`);
process.exit(sum('failed') === 0 && sum('passed') > 0 ? 0 : 1);
