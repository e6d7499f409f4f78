/**
 * `npm test`: runs the tests that need no server while the servers start and the tools are installed, then the tests
 * that need servers, then those that need the tools. It prints the slowest files. Its last line is
 * `N passed, N failed, N skipped`. Other arguments are passed on to vitest, as in `npm test -- hubs`.
 *
 * Files that fail run once more, one after the other, unless they are many. What passes then is listed as UNSTEADY: the
 * test or the product depends on time, and one of them is wrong.
 *
 *     node tools/test.ts                       what fits into eight minutes
 *     node tools/test.ts --added [--within=S]  only what --all adds; after S seconds no further form of the hub begins
 *     node tools/test.ts --all                 also faults under load, more pages of the console, every test over HTTP
 *                                              against every form of the hub, and the cost of requests
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { compileCache } from '../packages/service-kit/compile-cache.mjs';
import { type Databases, startDatabases } from './databases.ts';
import type { ErrorOutside } from './errors-outside.ts';

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
  failures: Failure[];
  /** Those that failed once and then passed. */
  unsteady: Failure[];
  times: Timed[];
}

interface Failure {
  /** The file and the name of the test. */
  test: string;
  /** The first lines of the error. */
  error: string;
}

/** The counts of a run, and the files that failed in it. */
interface Outcome extends Counts {
  failedFiles: FileCounts[];
}

interface FileCounts {
  file: string;
  passed: number;
  skipped: number;
}

/** A file, and how long its tests took. */
interface Timed {
  file: string;
  seconds: number;
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
    startTime: number;
    endTime: number;
    assertionResults: { status: string; fullName: string; failureMessages: string[] }[];
  }[];
}

/** What a run of vitest is for, as vitest.config.ts reads it. */
type Extent = 'quick' | 'added';

interface Run {
  projects: string[];
  extra: string[];
  env: NodeJS.ProcessEnv;
  interrupted: AbortSignal;
}

const root = fileURLToPath(new URL('..', import.meta.url));
const renderer = fileURLToPath(new URL('render-manifests.ts', import.meta.url));
const fuzzer = fileURLToPath(new URL('schemathesis.ts', import.meta.url));
const readers = ['arrow-readers.ts', 'xlsx-reader.ts'].map((name) => [
  fileURLToPath(new URL(name, import.meta.url)),
]);
const outsideReporter = fileURLToPath(new URL('errors-outside.ts', import.meta.url));
const ledger = fileURLToPath(new URL('../bench/ledger.ts', import.meta.url));
const linter = fileURLToPath(new URL('actionlint.ts', import.meta.url));
const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url));
const stopGraceMs = 10_000;
const slowestPrinted = 20;
/** If more files fail, the cause is neither chance nor a slow machine. */
const repeatedFilesMax = 24;
const say = (line: string) => process.stdout.write(`· ${line}\n`);

async function runVitest({ projects, extra, env, interrupted }: Run): Promise<Outcome> {
  const dir = await mkdtemp(join(tmpdir(), 'datahub-report-'));
  const [report, outside] = [join(dir, 'report.json'), join(dir, 'errors-outside.json')];
  const args = ['run', ...projects.map((name) => `--project=${name}`), '--passWithNoTests', ...extra];
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  reporters.push(`--reporter=${outsideReporter}`);
  const child = spawn(process.execPath, [vitest, ...args, ...reporters], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    // Its own process group, so that processes that an interrupted run leaves behind can be ended.
    detached: true,
    env: { ...env, ERRORS_OUTSIDE: outside },
  });
  const stop = () => {
    child.kill('SIGINT');
    setTimeout(() => child.kill('SIGKILL'), stopGraceMs).unref();
  };
  interrupted.addEventListener('abort', stop);
  const [code] = await once(child, 'close');
  interrupted.removeEventListener('abort', stop);
  endGroup(child.pid);
  const result: Report = JSON.parse(await readFile(report, 'utf8').catch(() => '{}'));
  const errors: ErrorOutside[] = JSON.parse(await readFile(outside, 'utf8').catch(() => '[]'));
  await rm(dir, { recursive: true, force: true });
  const { numPassedTests = 0, numPendingTests = 0, numTodoTests = 0 } = result;
  // A file that cannot be loaded, a broken set-up or an error outside of a test fails the run without a failed test.
  const failures = [...failuresOf(result), ...outsideOf(errors, projects)];
  if (code !== 0 && failures.length === 0)
    failures.push({ test: projects.join(', '), error: 'vitest has failed; see above' });
  const skipped = numPendingTests + numTodoTests;
  const counts = { passed: numPassedTests, failed: failures.length, skipped, failures, unsteady: [] };
  return { ...counts, failedFiles: failedFilesOf(result, errors), times: timesOf(result) };
}

/** Runs the files that failed once more, if they are few, and counts what they do then. */
async function runWithSecondTry(run: Run): Promise<Counts> {
  const first = await runVitest(run);
  const files = [...new Set(first.failedFiles.map(({ file }) => file))];
  if (first.failed === 0 || files.length === 0 || files.length > repeatedFilesMax || run.interrupted.aborted)
    return first;
  say(`running once more what failed: ${files.join(', ')}`);
  const second = await runVitest({ ...run, extra: ['--no-file-parallelism', ...files] });
  const unsteady = first.failures.filter(({ test }) => !second.failures.some((other) => other.test === test));
  const count = (name: 'passed' | 'skipped') =>
    first[name] - first.failedFiles.reduce((sum, one) => sum + one[name], 0) + second[name];
  return { ...second, passed: count('passed'), skipped: count('skipped'), unsteady, times: first.times };
}

/** The lines of a message that are printed once more at the end: a browser names there what it waited for. */
const linesPrinted = 8;

const beginning = (message = '') =>
  stripVTControlCharacters(message)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .slice(0, linesPrinted)
    .join(' | ');

/** Lists the failed tests, and the files that failed as a whole. */
function failuresOf({ testResults = [] }: Report): Failure[] {
  return testResults.flatMap(({ name, status, message, assertionResults }) => {
    const file = relative(root, name);
    const failed = assertionResults.filter((test) => test.status === 'failed');
    if (failed.length === 0) return status === 'failed' ? [{ test: file, error: beginning(message) }] : [];
    return failed.map(({ fullName, failureMessages }) => ({
      test: `${file}: ${fullName}`,
      error: beginning(failureMessages[0]),
    }));
  });
}

/** The errors that no test has caught. All of one file are one failure: the first is often the cause of the others. */
function outsideOf(errors: ErrorOutside[], projects: string[]): Failure[] {
  const byFile = Map.groupBy(errors, ({ file }) => file);
  return [...byFile].map(([file, [first]]) => ({
    test: `${file === undefined ? projects.join(', ') : relative(root, file)}: outside of a test`,
    error: beginning(first?.error),
  }));
}

function failedFilesOf({ testResults = [] }: Report, errors: ErrorOutside[]): FileCounts[] {
  const withErrors = new Set(errors.map(({ file }) => file));
  return testResults
    .filter(({ status, name }) => status === 'failed' || withErrors.has(name))
    .map(({ name, assertionResults }) => {
      const count = (...statuses: string[]) =>
        assertionResults.filter((test) => statuses.includes(test.status)).length;
      return {
        file: relative(root, name),
        passed: count('passed'),
        skipped: count('pending', 'skipped', 'todo'),
      };
    });
}

const timesOf = ({ testResults = [] }: Report): Timed[] =>
  testResults.map(({ name, startTime, endTime }) => ({
    file: relative(root, name),
    seconds: (endTime - startTime) / 1_000,
  }));

/** Ends processes that the tests started and did not stop, such as the services of a hub after an interruption. */
function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGTERM');
  } catch (err) {
    // No process was left in the group.
    if ((err as NodeJS.ErrnoException).code !== 'ESRCH') throw err;
  }
}

/** The projects of `npm test` that can run with these servers, besides `unit` and `tools`. */
function quickProjects(env: Record<string, string>): string[] {
  const base = ['servers', 'chaos'];
  if (!hasSqlServer(env)) {
    say('skipped: the end-to-end tests need PostgreSQL, MariaDB or MySQL.');
    return base;
  }
  return [...base, 'e2e-single', env.MONGODB_URL ? 'e2e-distributed' : 'e2e-distributed-sqlite'];
}

/**
 * The projects that `npm run test:all` adds, in the order in which they run: each step is whole forms of the hub, and
 * those that take longest come last.
 */
function addedSteps(env: Record<string, string>): string[][] {
  if (!hasSqlServer(env)) return [['tools'], ['chaos']];
  const onMongodb = (name: string) => (env.MONGODB_URL ? [name] : []);
  const steps = [
    ['tools'],
    ['e2e-single'],
    ['chaos'],
    // With several processes, over each store.
    [...onMongodb('e2e-distributed'), 'e2e-workers'],
    onMongodb('e2e-single-mongodb'),
    ['e2e-distributed-sqlite'],
    ['e2e-single-edge'],
    onMongodb('e2e-replicas'),
  ];
  return steps.filter(({ length }) => length > 0);
}

const hasSqlServer = (env: Record<string, string>) =>
  Boolean(env.POSTGRES_URL || env.MARIADB_URL || env.MYSQL_URL);

/** Installs what the tests of the project `tools` need. Helm, whose build takes all cores for a minute, is not for all. */
async function installTools(extent: Extent, interrupted: AbortSignal): Promise<void> {
  const isQuick = extent === 'quick';
  const names = isQuick ? 'schemathesis, PyArrow, openpyxl and actionlint' : 'Helm and kubernetes-validate';
  say(`installing ${names} if they are missing …`);
  for (const args of isQuick
    ? [[fuzzer], ...readers, [linter]]
    : [[fuzzer], [renderer, '--tools', '--check']])
    if (!interrupted.aborted) await runTool(args, interrupted);
}

async function runTool(args: string[], interrupted: AbortSignal): Promise<void> {
  // The tests go first.
  const child = spawn('nice', [process.execPath, ...args], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
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

/** Compares the instructions of requests with the last record in bench/ledger. Growth counts as one failed test. */
async function checkLedger(env: NodeJS.ProcessEnv, interrupted: AbortSignal): Promise<Counts> {
  const child = spawn(process.execPath, [ledger, '--check'], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    env,
  });
  const stop = () => child.kill('SIGTERM');
  interrupted.addEventListener('abort', stop);
  const [code] = await once(child, 'close');
  interrupted.removeEventListener('abort', stop);
  const failures =
    code === 0
      ? []
      : [{ test: 'bench/ledger.ts', error: 'a request needs more instructions than in the last record' }];
  const passed = code === 0 ? 1 : 0;
  return { passed, failed: failures.length, skipped: 0, failures, unsteady: [], times: [] };
}

interface Options {
  extra: string[];
  interrupted: AbortSignal;
}

async function runQuick(starting: Promise<Databases>, { extra, interrupted }: Options): Promise<Counts[]> {
  const installing = installTools('quick', interrupted);
  // It may fail while the first tests still run. The error is reported at the await below.
  installing.catch(() => {});
  let hasTools = false;
  installing.then(
    () => {
      hasTools = true;
    },
    () => {},
  );
  const counts: Counts[] = [
    await runWithSecondTry({ projects: ['unit'], extra, env: process.env, interrupted }),
  ];
  const databases = await starting;
  if (interrupted.aborted) return counts;
  // The tests with tools run beside the others, or at the end if a tool is still being built.
  const withTools = hasTools;
  const projects = [...quickProjects(databases.env), ...(withTools ? ['tools'] : [])];
  const env = envOf(databases, 'quick');
  counts.push(await runWithSecondTry({ projects, extra, env, interrupted }));
  await installing;
  if (interrupted.aborted || withTools) return counts;
  counts.push(await runVitest({ projects: ['tools'], extra, env, interrupted }));
  return counts;
}

/** One step after the other, so that a run with a limit ends with whole forms. */
async function runAdded(starting: Promise<Databases>, within: number, options: Options): Promise<Counts[]> {
  await installTools('added', options.interrupted);
  const databases = await starting;
  const env = envOf(databases, 'added');
  const counts: Counts[] = [];
  const isOver = () => performance.now() - began > within * 1_000;
  for (const projects of addedSteps(databases.env)) {
    if (options.interrupted.aborted) return counts;
    if (isOver()) say(`not run within ${within} s: ${projects.join(', ')}`);
    else counts.push(await runWithSecondTry({ projects, env, ...options }));
  }
  if (isOver()) say(`not run within ${within} s: the cost of requests`);
  else if (!options.interrupted.aborted) counts.push(await checkLedger(env, options.interrupted));
  return counts;
}

const envOf = ({ env }: Databases, extent: Extent) => ({ ...process.env, ...env, TEST_EXTENT: extent });

async function runAll(options: Options): Promise<Counts[]> {
  const starting = startDatabases({ say });
  starting.catch(() => {});
  const counts: Counts[] = [];
  try {
    if (!isAsked('--added')) counts.push(...(await runQuick(starting, options)));
    if (isAsked('--added') || isAsked('--all')) counts.push(...(await runAdded(starting, within, options)));
    for (const line of (await starting).missing) say(`skipped: ${line}`);
    return counts;
  } finally {
    await starting.then(
      (databases) => databases.close(),
      () => {},
    );
  }
}

/** Prints the files that decide how long a run takes. */
function printSlowest(times: Timed[]): void {
  const slowest = times.toSorted((a, b) => b.seconds - a.seconds).slice(0, slowestPrinted);
  for (const { file, seconds } of slowest) say(`${seconds.toFixed(1).padStart(6)} s  ${file}`);
}

// Tests start hundreds of programs, each of which would strip and compile its files.
process.env.NODE_COMPILE_CACHE ??= compileCache;
const interrupt = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => interrupt.abort());
const args = process.argv.slice(2);
const isAsked = (flag: string) => args.includes(flag);
const within = Number(args.find((one) => one.startsWith('--within='))?.split('=')[1] ?? Infinity);
const extra = args.filter((one) => !/^--(added|all|within=.*)$/.test(one));
const began = performance.now();
const counts = await runAll({ extra, interrupted: interrupt.signal });
printSlowest(counts.flatMap(({ times }) => times));
for (const { test, error } of counts.flatMap((one) => one.unsteady)) say(`UNSTEADY ${test}: ${error}`);
for (const { test, error } of counts.flatMap((one) => one.failures)) say(`FAILED ${test}: ${error}`);
const sum = (name: 'passed' | 'failed' | 'skipped') => counts.reduce((total, one) => total + one[name], 0);
say(
  `${interrupt.signal.aborted ? 'interrupted' : 'done'} after ${Math.round((performance.now() - began) / 1_000)} s`,
);
process.stdout.write(`${sum('passed')} passed, ${sum('failed')} failed, ${sum('skipped')} skipped\n`);
// A run that matches no test has failed, but not one whose time was over before it began.
const hasRun = sum('passed') > 0 || counts.length === 0;
process.exit(sum('failed') === 0 && hasRun && !interrupt.signal.aborted ? 0 : 1);
