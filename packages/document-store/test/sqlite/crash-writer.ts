/**
 * The process that the crash test kills: 32 writers on one embedded store, each printing what was acknowledged, one
 * line at a time, only after the promise resolved. Arguments: the file and the number of the round.
 */
import { writeSync } from 'node:fs';
import type { Doc } from '../../src/index.ts';
import { openSqliteStore } from '../../src/sqlite/store.ts';

export interface Entry extends Doc {
  pair: string;
  text: string;
  hits?: number;
}

export const crashSpecs = [
  {
    name: 'entries',
    indexes: ['pair'],
    counters: ['hits'],
    summary: { by: 'pair', fields: ['text'] },
  },
];

export const crashWriters = 32;

async function write(path: string, round: string): Promise<void> {
  const entries = openSqliteStore(path, crashSpecs).collection<Entry>('entries');
  const say = (line: string) => writeSync(1, `${line}\n`);
  async function work(writer: number): Promise<void> {
    const accountId = `account${writer % 4}`;
    for (let i = 0; ; i += 1) {
      const pair = `r${round}w${writer}n${i}`;
      const first = { id: `${pair}a`, accountId, version: 1, pair, text: `${pair} `.repeat(20) };
      await entries.insertMany([first, { ...first, id: `${pair}b` }]);
      say(`inserted ${accountId} ${pair}`);
      if (await entries.replace({ ...first, version: 2, text: 'replaced' }))
        say(`replaced ${accountId} ${pair}`);
      if ((await entries.add(accountId, first.id, { counter: 'hits', by: 3 })) !== null)
        say(`counted ${accountId} ${pair}`);
      if (i % 5 === 4 && (await entries.delete(accountId, `${pair}b`))) say(`deleted ${accountId} ${pair}`);
    }
  }
  await Promise.all(Array.from({ length: crashWriters }, (_, writer) => work(writer)));
}

const [, script, path, round] = process.argv;
if (script === import.meta.filename && path !== undefined && round !== undefined) await write(path, round);
