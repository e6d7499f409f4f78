import { describe, expect, it } from 'vitest';
import { changedMembers } from '../../src/files/compare.ts';
import { toLine } from '../../src/files/fault.ts';
import type { KeyModel, QueryModel } from '../../src/files/model.ts';
import type { Plan, Step } from '../../src/files/plan.ts';
import { isBreaking, lossesOf, toLines, toMarkdown } from '../../src/files/report.ts';

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

  it('makes no links and mentions of labels in Markdown', () => {
    const markdown = toMarkdown(
      planOf('SELECT 1', 'SELECT 2', '@team #12 https://a.example www.b.example &lt;'),
    );
    expect(markdown).not.toMatch(/@team|#12|:\/\/|www\.|(?<!\\)&lt;/);
    expect(markdown.replaceAll(/&#8203;|\\/g, '')).toContain(
      '@team #12 https://a.example www.b.example &lt;',
    );
  });

  it('ends no fence of Markdown early', () => {
    expect(toMarkdown(planOf('SELECT 1', 'SELECT "````"'))).toContain('`````diff');
  });
});

describe('what breaks callers', () => {
  const query = { path: 'one', label: 'One', source: 'a', folder: [], context: [], notNull: [], text: 'x' };
  const update = (before: Partial<QueryModel>, after: Partial<QueryModel>): Step => {
    const [old, next] = [{ ...query, ...before } as QueryModel, { ...query, ...after } as QueryModel];
    const members = changedMembers(next, old);
    const step = { kind: 'query', action: 'update', name: 'one', members };
    return { ...step, remote: { model: old }, file: { model: next } } as Step;
  };
  const steps = [{ query: 'SELECT 1 AS x' }];
  const claim = (name: string) => ({ settings: { 'app.u': { claim: name } } });
  const among = (...roles: string[]) => ({ role: { claim: 'role', among: roles } });

  it.each<[what: string, step: Step, loss: string]>([
    ['a read that calls', update({ command: 'SELECT' }, { command: 'CALL' }), 'calls over GET fail'],
    ['a read that writes', update({ command: 'SELECT' }, { command: 'UPDATE' }), 'calls over GET fail'],
    ['steps', update({ command: 'SELECT' }, { command: 'TRANSACTION', steps }), 'calls over GET fail'],
    ['a write in steps', update({ command: 'INSERT' }, { command: 'TRANSACTION', steps }), 'records in bulk'],
    ['a write that reads', update({ command: 'UPDATE' }, { command: 'SELECT' }), 'records in bulk'],
    ['a claim', update({}, { session: claim('sub') }), 'the claim sub'],
    ['another claim', update({ session: claim('sub') }, { session: claim('org') }), 'the claim org'],
    ['fewer roles', update({ session: among('a', 'b') }, { session: among('a') }), 'the role b'],
    ['no tool', update({ tool: { name: 'orders', description: 'd' } }, {}), 'agents lose the tool orders'],
    [
      'another tool',
      update({ tool: { name: 'a', description: 'd' } }, { tool: { name: 'b', description: 'd' } }),
      'agents lose the tool a',
    ],
    ['no texts of errors', update({ errors: 'author' }, {}), 'errors lose'],
    ['another path', { kind: 'hub', action: 'update', name: 'b', from: 'a' }, 'calls by the path a fail'],
    ['a claim of a source', sourceUpdate({}, { session: claim('sub') }), 'the claim sub'],
    ['a key that is gone', { ...keyUpdate({}, {}), action: 'delete' } as Step, 'calls with the key fail'],
    ['fewer queries', keyUpdate({ queries: ['a', 'b'] }, { queries: ['a'] }), 'limits.queries'],
    ['a first limit', keyUpdate({}, { maxRows: 5 }), 'limits.maxRows'],
    ['strict', keyUpdate({}, { strict: true }), 'limits.strict'],
  ])('%s', (_, step, loss) => {
    expect(isBreaking(step)).toBe(true);
    expect(lossesOf(step)?.join()).toContain(loss);
  });

  it.each<[what: string, step: Step]>([
    ['another verb that reads', update({ command: 'SELECT' }, { command: 'WITH' })],
    ['another write', update({ command: 'UPDATE' }, { command: 'DELETE' })],
    ['a session without claims', update({ session: claim('sub') }, { session: { role: 'reader' } })],
    ['a tool', update({}, { tool: { name: 'a', description: 'd' } })],
    [
      'another description',
      update({ tool: { name: 'a', description: 'd' } }, { tool: { name: 'a', description: 'e' } }),
    ],
    ['texts of errors', update({}, { errors: 'author' })],
    ['a label', update({ label: 'One' }, { label: 'Two' })],
    ['another label of the hub', { kind: 'hub', action: 'update', name: 'b' }],
    ['more queries', keyUpdate({ queries: ['a'] }, { queries: ['b', 'a'] })],
    ['a higher limit', keyUpdate({ maxRows: 5, strict: true }, { maxRows: 6 })],
    ['a pinned value', keyUpdate({}, { context: { region: 'north' } })],
  ])('and what does not: %s', (_, step) => {
    expect(isBreaking(step)).not.toBe(true);
  });
});

const sourceUpdate = (before: object, after: object): Step =>
  ({
    ...{ kind: 'source', action: 'update', name: 'a', sourceId: '', members: ['session'], settings: [] },
    before: { label: 'a', engine: 'postgres', connectionSettings: before },
    source: { label: 'a', engine: 'postgres', connectionSettings: after },
  }) as Step;

const keyUpdate = (before: KeyModel['limits'], after: KeyModel['limits']): Step =>
  ({
    ...{ kind: 'key', action: 'update', name: 'page', members: ['limits'] },
    remote: { model: { path: 'page', scopes: [], limits: before } },
    file: { model: { path: 'page', scopes: [], limits: after } },
  }) as unknown as Step;
