import { describe, expect, it } from 'vitest';
import { toLine } from '../../src/files/fault.ts';
import type { Plan } from '../../src/files/plan.ts';
import { toLines, toMarkdown } from '../../src/files/report.ts';

const query = (text: string) => ({ model: { path: 'one', text } });
const planOf = (before: string, after: string, name = 'one') =>
  ({
    steps: [
      {
        ...{ kind: 'query', action: 'update', name, members: ['text'] },
        remote: query(before),
        file: query(after),
      },
    ],
    unmanaged: ['a\u001b[2Jb'],
    unmanagedWatches: [],
    unmanagedKeys: [],
    watches: undefined,
    unmanagedBoards: [],
  }) as unknown as Plan;
const toText = (plan: Plan) =>
  toLines(plan)
    .map(({ text }) => text)
    .join('\n');

describe('a report', () => {
  it('shows control characters, which could hide lines from the reader', () => {
    const hidden = 'SELECT 1\u001b[1A\u001b[2K\rSELECT 2\u0085\u009b2J';
    const turned = 'SELECT \u202e2\u2066 -- \u200f';
    const plan = planOf(hidden, turned, 'one\u0007');
    for (const report of [toText(plan), toMarkdown(plan)]) {
      expect(report).not.toMatch(/[^\P{Cc}\n]|\p{Bidi_Control}/u);
      expect(report).toContain('- SELECT 1\\u001b[1A\\u001b[2K\\u000dSELECT 2\\u0085\\u009b2J');
      expect(report).toContain('+ SELECT \\u202e2\\u2066 -- \\u200f');
    }
    const fault = { file: 'a\u001b.sql', line: 1, column: 2, detail: 'x\u001b[8m' };
    expect(toLine(fault)).toBe('a\\u001b.sql:1:2: x\\u001b[8m');
  });

  it('keeps tabs, and letters of all scripts', () => {
    expect(toText(planOf('SELECT 1', "SELECT\t'é語🙂'"))).toContain("+ SELECT\t'é語🙂'");
  });

  it('ends no fence of Markdown early', () => {
    expect(toMarkdown(planOf('SELECT 1', 'SELECT "````"'))).toContain('`````diff');
  });
});
