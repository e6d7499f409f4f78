/**
 * Mutation testing of the security-critical code: `npm run mutate [-- group …]`. Changes one operator, condition or
 * string at a time in a copy of the tree and runs the unit tests of the code. Fails if a group detects less than 85 %.
 */

import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

interface Group {
  files: string[];
  tests: string[];
}

const root = fileURLToPath(new URL('..', import.meta.url));
const scoreMin = 85;

const groups: Record<string, Group> = {
  keys: {
    files: [
      'packages/service-kit/src/api-key.ts',
      'services/gateway/src/access/authenticate.ts',
      'services/catalog/src/{key,key-delegation}.ts',
    ],
    tests: [
      'packages/service-kit/test/api-key.test.ts',
      'services/gateway/test/access/{authenticate,admission}.test.ts',
      'services/catalog/test/{key,key-delegation,rpc/keys}.test.ts',
    ],
  },
  tenancy: {
    files: ['services/catalog/src/catalog.ts', 'services/catalog/src/check.ts'],
    tests: ['services/catalog/test/catalog.test.ts', 'services/catalog/test/check.test.ts'],
  },
  seal: {
    files: [
      'packages/sealing/src/{array-buffer,envelope,key-pair,opener,sealer,suite,x25519}.ts',
      'services/executor/src/credentials/unseal.ts',
    ],
    tests: ['packages/sealing/test/*.test.ts', 'services/executor/test/credentials/unseal.test.ts'],
  },
  addresses: {
    files: ['services/executor/src/network/{address-policy,reserved-ranges,dialer,resolver}.ts'],
    tests: ['services/executor/test/network/{address-policy,dialer,resolver,service-resolver}.test.ts'],
  },
  binder: {
    files: ['packages/statement/src/{values,sql/lexer,sql/compile,sql/statement-kind}.ts'],
    // Without hostile.test.ts, which measures how the cost grows and takes most of a run.
    tests: ['packages/statement/test/{binding,describable,refusals,values,warnings,sql/*}.test.ts'],
  },
  commands: {
    files: ['packages/statement/src/mongodb/{command,command-walker,extended-json,template}.ts'],
    tests: ['packages/statement/test/mongodb/*.test.ts'],
  },
};

/** Node finds workspaces through links in node_modules, so the copy gets its own links and shares the other packages. */
function copyTree(): string {
  const copy = mkdtempSync(join(tmpdir(), 'datahub-mutate-'));
  const tracked = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    maxBuffer: 1 << 26,
  });
  for (const path of String(tracked).split('\0').filter(Boolean)) {
    mkdirSync(dirname(join(copy, path)), { recursive: true });
    cpSync(join(root, path), join(copy, path));
  }
  const modules = join(root, 'node_modules');
  mkdirSync(join(copy, 'node_modules'));
  for (const name of readdirSync(modules)) {
    const from = join(modules, name);
    const to = join(copy, 'node_modules', name);
    if (name === '@datahub') cpSync(from, to, { recursive: true, verbatimSymlinks: true });
    else if (!name.startsWith('.') || name === '.bin') symlinkSync(from, to);
  }
  return copy;
}

/** The share of changes that a test detected. Changes that no test executes count as undetected. */
function runGroup(copy: string, name: string): number {
  const { files, tests } = groups[name] as Group;
  const report = join(copy, `${name}.json`);
  const vitest = { test: { include: tests, testTimeout: 20_000 } };
  writeFileSync(join(copy, 'vitest.mutation.config.ts'), `export default ${JSON.stringify(vitest)};\n`);
  const config = {
    testRunner: 'vitest',
    vitest: { configFile: 'vitest.mutation.config.ts', related: false },
    plugins: ['@stryker-mutator/vitest-runner'],
    inPlace: true,
    coverageAnalysis: 'perTest',
    concurrency: 1,
    mutate: files,
    reporters: ['clear-text', 'progress-append-only', 'json'],
    clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
    jsonReporter: { fileName: report },
    disableTypeChecks: false,
  };
  writeFileSync(join(copy, 'stryker.config.json'), JSON.stringify(config));
  const stryker = join(copy, 'node_modules', '@stryker-mutator', 'core', 'bin', 'stryker.js');
  const run = spawnSync(process.execPath, [stryker, 'run'], {
    cwd: copy,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, PROPERTY_RUNS: '100' },
  });
  if (run.status !== 0) throw new Error(`The mutation run of ${name} failed.`);
  return scoreOf(readFileSync(report, 'utf8'));
}

function scoreOf(report: string): number {
  const { files } = JSON.parse(report) as { files: Record<string, { mutants: { status: string }[] }> };
  const statuses = Object.values(files).flatMap(({ mutants }) => mutants.map(({ status }) => status));
  const count = (...wanted: string[]) => statuses.filter((status) => wanted.includes(status)).length;
  const noticed = count('Killed', 'Timeout');
  return (100 * noticed) / (noticed + count('Survived', 'NoCoverage'));
}

const wanted = process.argv.slice(2);
const names = wanted.length > 0 ? wanted : Object.keys(groups);
const copy = copyTree();
try {
  const scores = names.map((name) => ({ name, score: runGroup(copy, name) }));
  for (const { name, score } of scores) process.stdout.write(`${name}: ${score.toFixed(1)} %\n`);
  if (scores.some(({ score }) => score < scoreMin)) process.exitCode = 1;
} finally {
  rmSync(copy, { recursive: true, force: true });
}
