/** The committed results: one line for each record, the newest last. */

import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { commitOf } from '../support/trees.ts';
import type { Engine } from './databases.ts';
import type { Counted, Timed } from './measure.ts';

export interface Entry {
  date: string;
  commit: string;
  engine: Engine;
  /** How many requests of each case were counted. */
  requests: number;
  counted: Counted;
  timed: Timed;
  byHand: { counted: Counted; timed: Timed };
}

const path = fileURLToPath(new URL('results.jsonl', import.meta.url));

export function record(entry: Omit<Entry, 'date' | 'commit'>): void {
  const date = new Date().toISOString().slice(0, 10);
  appendFileSync(path, `${JSON.stringify({ date, commit: commitOf('HEAD'), ...entry })}\n`);
}

/** The newest entry of the engine. */
export function lastOf(engine: Engine): Entry | undefined {
  if (!existsSync(path)) return undefined;
  const lines = readFileSync(path, 'utf8').trim().split('\n');
  return lines.map((line): Entry => JSON.parse(line)).findLast((entry) => entry.engine === engine);
}
