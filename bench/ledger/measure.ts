/** Counts what the requests of each case cost a program and the database. */

import { isOlder } from '../support/trees.ts';
import { type Calls, type CaseName, caseNames, executed, storeCases } from './cases.ts';
import type { LedgerDatabase } from './databases.ts';
import { type Program, startHub } from './programs.ts';

/** Instructions in user mode, in thousands per request. */
export interface Counted {
  /** Of the main thread, after all cases ran. */
  settled: Partial<Record<CaseName, number>>;
  /** Of all threads, over the first requests of the process, which run `minimal`. */
  cold: number;
}

/** CPU time in microseconds per request. It depends on what else the machine does. */
export interface Timed {
  hub: Partial<Record<CaseName, number>>;
  database: Partial<Record<CaseName, number>>;
}

const inFlight = 16;

export async function countHub(tree: string, database: LedgerDatabase, requests: number): Promise<Counted> {
  const program = await startHub(tree, true);
  try {
    return await count(program, await storeCases(program.send, database, isOlder(tree)), requests);
  } finally {
    await program.stop();
  }
}

/** The first five times `requests` run cold; then each case runs twice as many, and is counted over `requests`. */
export async function count(program: Program, calls: Calls, requests: number): Promise<Counted> {
  const before = program.instructions();
  await run(program, calls.minimal, requests * 5);
  const after = program.instructions();
  const cold = (after.main - before.main + after.others - before.others) / (requests * 5) / 1_000;
  const settled: Counted['settled'] = {};
  const names = caseNames.filter((name) => calls[name] !== undefined);
  for (const name of names) await run(program, calls[name], requests * 2);
  for (const name of names) {
    const start = program.instructions().main;
    await run(program, calls[name], requests);
    settled[name] = (program.instructions().main - start) / requests / 1_000;
  }
  return { settled, cold };
}

export async function timeHub(tree: string, database: LedgerDatabase, requests: number): Promise<Timed> {
  const program = await startHub(tree, false);
  try {
    const calls = await storeCases(program.send, database, isOlder(tree));
    return await time({ program, calls, database, requests });
  } finally {
    await program.stop();
  }
}

interface TimeOptions {
  program: Program;
  calls: Calls;
  database: LedgerDatabase;
  requests: number;
}

export async function time({ program, calls, database, requests }: TimeOptions): Promise<Timed> {
  const timed: Timed = { hub: {}, database: {} };
  const names = caseNames.filter((name) => calls[name] !== undefined);
  for (const name of names) await run(program, calls[name], requests * 4);
  for (const name of names) {
    const [hubBefore, databaseBefore] = [program.cpu(), await database.cpuByThread()];
    await run(program, calls[name], requests * 4);
    timed.hub[name] = (program.cpu() - hubBefore) / (requests * 4);
    if (!executed.includes(name)) continue;
    let micros = 0;
    for (const [thread, cpu] of await database.cpuByThread())
      micros += cpu - (databaseBefore.get(thread) ?? 0);
    timed.database[name] = micros / (requests * 4);
  }
  return timed;
}

async function run(program: Program, callOf: Calls[CaseName], requests: number): Promise<void> {
  if (callOf === undefined) return;
  let sent = 0;
  const worker = async () => {
    while (sent < requests) {
      const { status, ...call } = callOf(sent++);
      const answer = await program.send(call);
      if (answer.status !== status)
        throw new Error(`${call.path}: ${answer.status} ${answer.text.slice(0, 300)}`);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
}
