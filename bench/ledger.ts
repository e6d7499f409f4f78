/**
 * The cost of nine kinds of requests. Instructions in user mode are counted in an emulator, so they hardly depend on
 * what else the machine does, nor on its processor. CPU time is measured natively.
 *
 *     npm run bench -- ledger                         the hub and the hand-written program
 *     npm run bench -- ledger --against COMMIT        this tree and that of a commit, in turns
 *     npm run bench -- ledger --record                appends the result to bench/ledger/results.jsonl
 *     npm run bench -- ledger --check                 fails if a case needs 3 % more instructions than the last record
 *
 * `--engine NAME` selects one engine. BENCH_REQUESTS is the number of requests counted for each case; a check takes it
 * from the record.
 */

import { parseArgs } from 'node:util';
import { type CaseName, callsByHand, caseNames } from './ledger/cases.ts';
import { type Engine, type LedgerDatabase, openDatabase, variableOf } from './ledger/databases.ts';
import { lastOf, record } from './ledger/history.ts';
import { type Counted, count, countHub, type Timed, time, timeHub } from './ledger/measure.ts';
import { startByHand, whyNotCounting } from './ledger/programs.ts';
import { median } from './support/table.ts';
import { checkOut, commitOf, root } from './support/trees.ts';

const { values: options } = parseArgs({
  options: {
    against: { type: 'string' },
    record: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    engine: { type: 'string', multiple: true },
  },
});
const requests = Number(process.env.BENCH_REQUESTS ?? 1_000);
const rounds = Number(process.env.BENCH_ROUNDS ?? 3);
const growthMax = 0.03;
const engines: readonly Engine[] = ['postgres', 'mariadb', 'mysql'];
const say = (line: string) => process.stdout.write(`${line}\n`);

type Figures = Partial<Record<CaseName | 'cold', number>>;
const figuresOf = ({ settled, cold }: Counted): Figures => ({ ...settled, cold });

function printTable(title: string, ours: Figures, baseline: Figures): void {
  say(`\n${title}\n${' '.repeat(16)}      ours  baseline`);
  for (const name of [...caseNames, 'cold'] as const) {
    const [mine, other] = [ours[name], baseline[name]];
    if (mine === undefined) continue;
    const compared =
      other === undefined ? '' : `${other.toFixed(1).padStart(10)}${(mine / other).toFixed(3).padStart(8)} ×`;
    say(`${name.padEnd(16)}${mine.toFixed(1).padStart(10)}${compared}`);
  }
}

/** Of each case, over the rounds. */
function medians(all: Figures[]): Figures {
  const names = Object.keys(all[0] ?? {}) as (keyof Figures)[];
  return Object.fromEntries(names.map((name) => [name, median(all.map((one) => one[name] ?? 0))]));
}

async function measure(database: LedgerDatabase): Promise<void> {
  const { engine, url } = database;
  const counted = await countHub(root, database, requests);
  const timed = await timeHub(root, database, requests);
  const byHand = { counted: await countByHand(database), timed: await timeByHand(database) };
  printTable(
    `${engine}: thousands of instructions, against the hand-written program`,
    figuresOf(counted),
    figuresOf(byHand.counted),
  );
  printTable(`${engine}: CPU of the hub, µs`, timed.hub, byHand.timed.hub);
  printTable(`${engine}: CPU of the database, µs`, timed.database, byHand.timed.database);
  if (options.record) record({ engine, requests, counted, timed, byHand });

  async function countByHand({ engine }: LedgerDatabase): Promise<Counted> {
    const program = await startByHand(engine, url, true);
    return count(program, callsByHand, requests).finally(() => program.stop());
  }

  async function timeByHand(of: LedgerDatabase): Promise<Timed> {
    const program = await startByHand(engine, url, false);
    return time({ program, calls: callsByHand, database: of, requests }).finally(() => program.stop());
  }
}

async function compare(database: LedgerDatabase, commit: string, tree: string): Promise<void> {
  const counted: [Figures, Figures][] = [];
  const timed: [Timed, Timed][] = [];
  for (let round = 0; round < rounds; round++) {
    const ours = await countHub(root, database, requests);
    counted.push([figuresOf(ours), figuresOf(await countHub(tree, database, requests))]);
    const oursTimed = await timeHub(root, database, requests);
    timed.push([oursTimed, await timeHub(tree, database, requests)]);
  }
  const print = (title: string, pairs: [Figures, Figures][]) =>
    printTable(
      `${database.engine}: ${title}, against ${commit}, medians of ${rounds}`,
      medians(pairs.map(([ours]) => ours)),
      medians(pairs.map(([, theirs]) => theirs)),
    );
  print('thousands of instructions', counted);
  print(
    'CPU of the hub, µs',
    timed.map(([ours, theirs]) => [ours.hub, theirs.hub]),
  );
  print(
    'CPU of the database, µs',
    timed.map(([ours, theirs]) => [ours.database, theirs.database]),
  );
}

/** Counts again before it reports growth, because the compiler's decisions differ between runs. */
async function check(database: LedgerDatabase): Promise<void> {
  const last = lastOf(database.engine);
  if (last === undefined) return;
  const recorded = figuresOf(last.counted);
  const least: Figures = {};
  for (let round = 0; round < rounds; round++) {
    const now = figuresOf(await countHub(root, database, last.requests));
    for (const name of Object.keys(now) as (keyof Figures)[])
      least[name] = Math.min(now[name] ?? 0, least[name] ?? Number.POSITIVE_INFINITY);
    if (grown(least, recorded).length === 0) break;
  }
  printTable(
    `${database.engine}: thousands of instructions, against ${last.commit} of ${last.date}`,
    least,
    recorded,
  );
  for (const name of grown(least, recorded)) {
    say(
      `${database.engine}: ${name} needs more than ${growthMax * 100} % more instructions than at ${last.commit}.`,
    );
    process.exitCode = 1;
  }
}

const grown = (now: Figures, before: Figures) =>
  caseNames.filter((name) => (now[name] ?? 0) > (before[name] ?? 0) * (1 + growthMax));

const reason = whyNotCounting();
if (reason !== undefined) {
  say(`ledger: skipped, because this machine cannot count instructions: ${reason}.`);
} else {
  for (const engine of engines) {
    const url = process.env[variableOf(engine)];
    if (options.engine !== undefined && !options.engine.includes(engine)) continue;
    if (url === undefined) {
      say(`ledger: ${engine} skipped, because ${variableOf(engine)} is not in the environment.`);
      continue;
    }
    const database = await openDatabase(engine, url);
    try {
      if (options.check) await check(database);
      else if (options.against === undefined) await measure(database);
      else {
        const commit = commitOf(options.against);
        await compare(database, commit, checkOut(commit));
      }
    } finally {
      await database.close();
    }
  }
}
