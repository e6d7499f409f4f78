/**
 * The embedded store: durable creates of 32 writers against a commit each, and reads at 1,000 documents against
 * reads at 1,000,000. `node bench/store.ts [documents]`, in a temporary directory on the disk of TMPDIR.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CollectionSpec, Doc, DocumentStore } from '@datahub/document-store';
import { openDocumentStore } from '@datahub/document-store';

interface Query extends Doc {
  hubId: string;
  parentNodeId: string;
  label: string;
  archived: number;
  query: string;
}

const accountId = 'dh.acct.00000000000000000000000001';
const hubSize = 1_000;
const specs: CollectionSpec[] = [
  {
    name: 'queries',
    indexes: ['hubId', 'archived'],
    summary: { by: 'hubId', fields: ['parentNodeId', 'label'] },
  },
];
const idOf = (i: number) => `dh.q.${String(i).padStart(26, '0')}`;
const hubOf = (hub: number) => `dh.hub.${String(hub).padStart(26, '0')}`;
const query = (i: number): Query => ({
  id: idOf(i),
  accountId,
  version: 1,
  hubId: hubOf(Math.floor(i / hubSize)),
  parentNodeId: hubOf(i % 7),
  label: `Query number ${i}`,
  archived: 0,
  query: 'SELECT region, sum(amount) AS total FROM orders WHERE region = :region GROUP BY region '.repeat(4),
});

const dir = mkdtempSync(join(tmpdir(), 'bench-store-'));
const documents = Number(process.argv[2] ?? 1_000_000);
try {
  await writing();
  await reading();
} finally {
  rmSync(dir, { recursive: true });
}

/** The rounds alternate, so that a slow moment of the disk affects both sides. */
async function writing(): Promise<void> {
  const ours: number[] = [];
  const single: number[] = [];
  const store = await open('writes.db');
  const queries = store.collection<Query>('queries');
  let next = 0;
  for (let round = 0; round < 7; round += 1) {
    ours.push(
      await rate(() => Promise.all(Array.from({ length: 32 }, () => queries.insert(query(next++)))), 32, 400),
    );
    single.push(await rate(() => queries.insert(query(next++)), 1, 400));
  }
  await store.close();
  table('durable creates, per second', ['32 writers', 'one commit each'], [['insert', ours, single, '≥ 6']]);
}

/** Calls `work`, which does `each` operations, for `lengthMs`; returns operations per second. */
async function rate(work: () => Promise<unknown>, each: number, lengthMs: number): Promise<number> {
  const startMs = performance.now();
  let done = 0;
  while (performance.now() - startMs < lengthMs) {
    await work();
    done += each;
  }
  return (done * 1000) / (performance.now() - startMs);
}

async function reading(): Promise<void> {
  const small = await filled('small.db', hubSize);
  const large = await filled('large.db', documents);
  const random = (size: number) => Math.floor(Math.random() * size);
  const reads: [string, (store: DocumentStore, size: number) => Promise<unknown>, string][] = [
    ['get', (s, size) => s.collection<Query>('queries').get(accountId, idOf(random(size))), '≤ 3'],
    ['first page of 20', (s) => s.collection('queries').find({ accountId, limit: 20 }), '≤ 3'],
    [
      'first page of a filter',
      (s) => s.collection('queries').find({ accountId, where: { archived: 0 }, limit: 20 }),
      '≤ 3',
    ],
    [
      'summaries of 1,000',
      (s, size) => {
        const where = { hubId: hubOf(random(size / hubSize)) };
        return s.collection('queries').findSummaries({ accountId, where, limit: hubSize });
      },
      '≤ 3, ≤ 1,000 µs',
    ],
    ['count', (s) => s.collection('queries').count({ accountId }), '≤ 3'],
    [
      'offset 5,000 (small: 500)',
      (s, size) => {
        const offset = size > hubSize ? 5_000 : 500;
        return s.collection('queries').find({ accountId, offset, limit: 20 });
      },
      '≤ 1,000 µs',
    ],
  ];
  const rows: Row[] = [];
  for (const [name, read, goal] of reads) {
    const [ours, baseline]: number[][] = [[], []];
    for (let round = 0; round < 5; round += 1) {
      ours?.push(await medianUs(() => read(large, documents)));
      baseline?.push(await medianUs(() => read(small, hubSize)));
    }
    rows.push([name, ours ?? [], baseline ?? [], goal]);
  }
  await small.close();
  await large.close();
  table('reads, µs', [`${documents.toLocaleString('en')} documents`, '1,000 documents'], rows);
}

async function filled(name: string, size: number): Promise<DocumentStore> {
  const store = await open(name);
  const batch = 5_000;
  for (let start = 0; start < size; start += batch) {
    const length = Math.min(batch, size - start);
    await store.collection<Query>('queries').insertMany(Array.from({ length }, (_, i) => query(start + i)));
  }
  return store;
}

function open(name: string): Promise<DocumentStore> {
  return openDocumentStore(`sqlite:${join(dir, name)}`, specs);
}

async function medianUs(read: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  const startMs = performance.now();
  while (performance.now() - startMs < 150) {
    const beforeMs = performance.now();
    await read();
    times.push((performance.now() - beforeMs) * 1000);
  }
  return middle(times);
}

function middle(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

type Row = [name: string, ours: number[], baseline: number[], goal: string];

/** Each ratio compares two figures of one round; the spread is that of the ratios over all rounds. */
function table(title: string, [ours, baseline]: [string, string], rows: Row[]): void {
  console.log(`\n${title}\n\n| | ${ours} | ${baseline} | ratio | spread | goal |\n|---|---|---|---|---|---|`);
  for (const [name, mine, theirs, goal] of rows) {
    const ratios = mine.map((value, i) => value / (theirs[i] ?? Number.NaN));
    const spread = `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`;
    const cells = [
      middle(mine).toFixed(1),
      middle(theirs).toFixed(1),
      middle(ratios).toFixed(2),
      spread,
      goal,
    ];
    console.log(`| ${name} | ${cells.join(' | ')} |`);
  }
}
