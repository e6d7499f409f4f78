import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { checks } from './run.ts';
import { drawTable, replaceTable, versionsIn } from './table.ts';
import { targets } from './targets.ts';

const docs = readFileSync(new URL('../../docs/databases.md', import.meta.url), 'utf8');

it('has each check once, and reasons only for existing checks', () => {
  const names = checks.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  for (const { lacks } of targets) expect(names).toEqual(expect.arrayContaining(Object.keys(lacks)));
});

it('matches the table in the documentation (npm run matrix redraws it)', () => {
  const versions = versionsIn(docs);
  expect(versions).toHaveLength(targets.length);
  const columns = targets.map((target, i) => ({ target, version: versions[i] as string }));
  expect(docs).toBe(replaceTable(docs, drawTable(checks, columns)));
});
