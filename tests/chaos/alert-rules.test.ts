import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findPrometheus } from '../../tools/databases/prometheus.ts';
import { rulesFile } from '../support/prometheus.ts';

const programs = await findPrometheus({ say: (line) => process.stderr.write(`${line}\n`) });

describe.skipIf(programs === undefined)('the rules (need promtool)', () => {
  it('pass their tests', () => {
    const file = join(dirname(rulesFile), 'rules.test.yaml');
    const { status, stdout, stderr } = spawnSync(programs?.promtool as string, ['test', 'rules', file], {
      encoding: 'utf8',
    });
    expect([status, stdout + stderr]).toEqual([0, expect.stringContaining('SUCCESS')]);
  });
});
