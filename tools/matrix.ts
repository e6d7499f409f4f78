/**
 * Runs every check of the matrix on every server, and redraws the table in docs/databases.md. Fails without redrawing
 * if a server is missing, or if a check without a reason fails.
 */

import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { checks, runMatrix, type TargetResult } from '../tests/matrix/run.ts';
import { drawTable, replaceTable } from '../tests/matrix/table.ts';
import { targets } from '../tests/matrix/targets.ts';
import { startDatabases } from './databases.ts';

const say = (line: string) => process.stderr.write(`${line}\n`);
const docs = fileURLToPath(new URL('../docs/databases.md', import.meta.url));

const databases = await startDatabases({ say });
try {
  const results = await runMatrix({ ...process.env, ...databases.env });
  const problems = [
    ...databases.missing,
    ...targets.flatMap(({ name }) => problemsOf(name, results.get(name))),
  ];
  for (const problem of problems) say(problem);
  if (problems.length > 0) process.exitCode = 1;
  else await draw(results);
} finally {
  await databases.close();
}

function problemsOf(name: string, result: TargetResult | undefined): string[] {
  if (result === undefined) return [`${name} is missing.`];
  const { lacks } = targets.find((target) => target.name === name) as (typeof targets)[number];
  return [...result.failures].flatMap(([check, failure]) => {
    if (failure !== undefined && lacks[check] === undefined) return [`${name}: ${check}: ${failure}`];
    if (failure === undefined && lacks[check] !== undefined)
      return [`${name}: ${check} passes, so remove its reason`];
    return [];
  });
}

async function draw(results: Map<string, TargetResult>): Promise<void> {
  const columns = targets.map((target) => ({ target, version: results.get(target.name)?.version ?? '' }));
  await writeFile(docs, replaceTable(await readFile(docs, 'utf8'), drawTable(checks, columns)));
  say(`${checks.length} checks on ${targets.length} servers; the table is in docs/databases.md`);
}
