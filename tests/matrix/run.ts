/** Runs the checks on every server that has a URL. */

import { setTimeout as sleep } from 'node:timers/promises';
import { spawnHub } from '../support/spawned.ts';
import { answers } from './answers.ts';
import { type Bench, openBench, versionOf } from './bench.ts';
import type { Check } from './check.ts';
import { connecting } from './connecting.ts';
import { statements } from './statements.ts';
import { type Target, targets } from './targets.ts';
import { values } from './values.ts';

export const checks: readonly Check[] = [...connecting, ...values, ...statements, ...answers];

export interface TargetResult {
  version: string;
  /** The error of each check by name; undefined if it passed. */
  failures: Map<string, string | undefined>;
}

/** The number of servers that are checked at the same time. */
const concurrency = 4;

type Environment = Record<string, string | undefined>;

/** Returns the results by server name. Leaves out servers without a URL in the environment. */
export async function runMatrix(env: Environment): Promise<Map<string, TargetResult>> {
  const results = new Map<string, TargetResult>();
  const waiting = targets.filter(({ variable }) => env[variable] !== undefined);
  const work = async () => {
    for (let target = waiting.shift(); target !== undefined; target = waiting.shift()) {
      results.set(target.name, await runTarget(target, env));
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  return results;
}

const checkTimeoutMs = 15_000;

/**
 * Each server has a hub of its own, because failed log-ins are counted by account and address, and all servers have the
 * same address.
 */
async function runTarget(target: Target, env: Environment): Promise<TargetResult> {
  const hub = await spawnHub({ DATAHUB_POOL_WAIT_MS: '15000' });
  try {
    const bench = await openBench(target, { hub, env });
    try {
      const version = await versionOf(bench, env);
      return { version, failures: await runChecks(target, bench) };
    } finally {
      await bench.close();
    }
  } finally {
    await hub.close();
  }
}

async function runChecks(target: Target, bench: Bench): Promise<TargetResult['failures']> {
  const failures = new Map<string, string | undefined>();
  for (const check of checks) {
    const first = await runCheck(check, bench);
    // A check is repeated once, because a busy machine may miss a deadline.
    const isFinal = first === undefined || check.name in target.lacks;
    failures.set(check.name, isFinal ? first : await runCheck(check, bench));
  }
  return failures;
}

async function runCheck(check: Check, bench: Bench): Promise<string | undefined> {
  const ended = new AbortController();
  const late = sleep(checkTimeoutMs, undefined, { signal: ended.signal }).then(
    () => Promise.reject(new Error(`It took longer than ${checkTimeoutMs} ms.`)),
    () => {},
  );
  try {
    await bench.operator.emptyScratch();
    await Promise.race([check.run(bench), late]);
    return undefined;
  } catch (err) {
    return (err as Error).message;
  } finally {
    ended.abort();
  }
}
