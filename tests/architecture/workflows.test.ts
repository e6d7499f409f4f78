import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { targets } from '../../deploy/stage-image.ts';
import { findActionlint } from '../../tools/actionlint.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = join(root, '.github/workflows');
const names = readdirSync(folder);
const read = (name: string) => readFileSync(join(folder, name), 'utf8');
const actionlint = findActionlint();
if (actionlint === undefined)
  process.stderr.write('The workflows are not linted: `node tools/actionlint.ts` builds actionlint.\n');

describe.each(names)('%s', (name) => {
  it.skipIf(actionlint === undefined)('passes actionlint', () => {
    execFileSync(actionlint as string, [join(folder, name)], { cwd: root, encoding: 'utf8' });
  });

  it('names every action by its commit, because tags can move', () => {
    const uses = [...read(name).matchAll(/uses: (.*)/g)].map(([, action = '']) => action);
    expect(uses.length).toBeGreaterThan(0);
    expect(uses.filter((action) => !/^[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(action))).toEqual([]);
  });

  it('lets jobs read only, except where a job names more', () => {
    expect(parse(read(name)).permissions).toEqual({ contents: 'read' });
  });

  it('runs what .ci/run runs', () => expect(read(name)).toMatch(/^ +- run: \.ci\/run$/m));
});

it.skipIf(actionlint === undefined)('the workflow of docs/ci.md passes actionlint', () => {
  const page = readFileSync(join(root, 'docs/ci.md'), 'utf8');
  const [, workflow = ''] = /## GitHub\n+```yaml\n([\s\S]*?)```/.exec(page) ?? [];
  execFileSync(actionlint as string, ['-'], { cwd: root, input: workflow, encoding: 'utf8' });
});

it('the release builds every target of the Dockerfile', () => {
  expect(parse(read('release.yml')).jobs.images.strategy.matrix.target).toEqual([...targets]);
});
