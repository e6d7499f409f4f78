/**
 * `npm test`: runs the fast tests while the servers start, then the tests that need the servers. Its last line is
 * `N passed, N failed, N skipped`. Arguments are passed on to vitest, as in `npm test -- hubs`.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startDatabases } from './databases.ts';

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
  /** A line for each failed test: its file, its name and the first line of its error. */
  failures: string[];
}

/** The part of vitest's JSON report that this file reads. */
interface Report {
  numPassedTests?: number;
  numFailedTests?: number;
  numPendingTests?: number;
  numTodoTests?: number;
  testResults?: {
    name: string;
    status: string;
    message: string;
    assertionResults: { status: string; fullName: string; failureMessages: string[] }[];
  }[];
}

interface Run {
  projects: string[];
  extra: string[];
  env: NodeJS.ProcessEnv;
  interrupted: AbortSignal;
}

const root = fileURLToPath(new URL('..', import.meta.url));
const renderer = fileURLToPath(new URL('render-manifests.ts', import.meta.url));
const fuzzer = fileURLToPath(new URL('schemathesis.ts', import.meta.url));
const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url));
const stopGraceMs = 10_000;
const say = (line: string) => process.stdout.write(`· ${line}\n`);

async function runVitest({ projects, extra, env, interrupted }: Run): Promise<Counts> {
  const dir = await mkdtemp(join(tmpdir(), 'datahub-report-'));
  const report = join(dir, 'report.json');
  const args = ['run', ...projects.map((name) => `--project=${name}`), '--passWithNoTests', ...extra];
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const child = spawn(process.execPath, [vitest, ...args, ...reporters], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    // Its own process group, so that processes that an interrupted run leaves behind can be ended.
    detached: true,
    env,
  });
  const stop = () => {
    child.kill('SIGINT');
    setTimeout(() => child.kill('SIGKILL'), stopGraceMs).unref();
  };
  interrupted.addEventListener('abort', stop);
  const [code] = await once(child, 'close');
  interrupted.removeEventListener('abort', stop);
  endGroup(child.pid);
  const text = await readFile(report, 'utf8').catch(() => '{}');
  await rm(dir, { recursive: true, force: true });
  const result: Report = JSON.parse(text);
  const { numPassedTests = 0, numFailedTests = 0, numPendingTests = 0, numTodoTests = 0 } = result;
  // A file that cannot be loaded, or a broken set-up, fails the run without a failed test.
  const failed = code !== 0 && numFailedTests === 0 ? 1 : numFailedTests;
  const skipped = numPendingTests + numTodoTests;
  return { passed: numPassedTests, failed, skipped, failures: failuresOf(result) };
}

/** Lists the failed tests, and the files that failed as a whole. */
function failuresOf({ testResults = [] }: Report): string[] {
  const firstLine = (message: string | undefined) => message?.split('\n', 1)[0] ?? '';
  return testResults.flatMap(({ name, status, message, assertionResults }) => {
    const file = relative(root, name);
    const failed = assertionResults.filter((test) => test.status === 'failed');
    if (failed.length === 0) return status === 'failed' ? [`${file}: ${firstLine(message)}`] : [];
    return failed.map((test) => `${file}: ${test.fullName}: ${firstLine(test.failureMessages[0])}`);
  });
}

/** Ends processes that the tests started and did not stop, such as the services of a hub after an interruption. */
function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGTERM');
  } catch (err) {
    // No process was left in the group.
    if ((err as NodeJS.ErrnoException).code !== 'ESRCH') throw err;
  }
}

/** The projects that can run with these servers. `everything` adds the other combinations of form and store. */
function projectsFor(env: Record<string, string>, everything: boolean): string[] {
  const base = ['servers', 'chaos'];
  if (!env.POSTGRES_URL && !env.MARIADB_URL && !env.MYSQL_URL) {
    say('skipped: the end-to-end tests need PostgreSQL, MariaDB or MySQL.');
    return base;
  }
  if (!env.MONGODB_URL) return [...base, 'e2e-single', 'e2e-distributed-sqlite'];
  const others = everything
    ? ['e2e-distributed-sqlite', 'e2e-single-mongodb', 'e2e-single-edge', 'e2e-replicas']
    : [];
  return [...base, 'e2e-single', 'e2e-distributed', ...others];
}

/**
 * Installs Helm, the manifest validator and schemathesis for their tests. This comes last, because building Helm takes
 * all cores.
 */
async function installTools(interrupted: AbortSignal): Promise<void> {
  say('installing Helm, kubernetes-validate and schemathesis if they are missing (one to two minutes) …');
  await runTool([renderer, '--tools', '--check'], interrupted);
  if (!interrupted.aborted) await runTool([fuzzer], interrupted);
}

async function runTool(args: string[], interrupted: AbortSignal): Promise<void> {
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'ignore', 'pipe'] });
  const stop = () => child.kill('SIGTERM');
  interrupted.addEventListener('abort', stop);
  let problem = '';
  child.stderr.on('data', (text) => {
    problem += text;
  });
  await once(child, 'close');
  interrupted.removeEventListener('abort', stop);
  // The tests skip what is missing, and fail if the rendered chart is stale.
  if (problem !== '') say(problem.trim().split('\n').at(-1) ?? '');
}

async function runAll(extra: string[], everything: boolean, interrupted: AbortSignal): Promise<Counts[]> {
  const starting = startDatabases({ say });
  // It may fail while the fast tests still run. The error is reported at the await below.
  starting.catch(() => {});
  try {
    const unit = await runVitest({ projects: ['unit'], extra, env: process.env, interrupted });
    const databases = await starting;
    if (interrupted.aborted) return [unit];
    const projects = projectsFor(databases.env, everything);
    const env = { ...process.env, ...databases.env };
    const others = await runVitest({ projects, extra, env, interrupted });
    for (const line of databases.missing) say(`skipped: ${line}`);
    if (interrupted.aborted) return [unit, others];
    await installTools(interrupted);
    return [unit, others, await runVitest({ projects: ['tools'], extra, env: process.env, interrupted })];
  } finally {
    await starting.then(
      (databases) => databases.close(),
      () => {},
    );
  }
}

const interrupt = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => interrupt.abort());
const everything = process.argv.includes('--everything');
const extra = process.argv.slice(2).filter((argument) => argument !== '--everything');
const began = performance.now();
const counts = await runAll(extra, everything, interrupt.signal);
for (const failure of counts.flatMap((one) => one.failures)) say(`FAILED ${failure}`);
const sum = (name: 'passed' | 'failed' | 'skipped') => counts.reduce((total, one) => total + one[name], 0);
say(
  `${interrupt.signal.aborted ? 'interrupted' : 'done'} after ${Math.round((performance.now() - began) / 1_000)} s`,
);
process.stdout.write(`${sum('passed')} passed, ${sum('failed')} failed, ${sum('skipped')} skipped\n`);
process.exit(sum('failed') === 0 && sum('passed') > 0 && !interrupt.signal.aborted ? 0 : 1);
