import { expect, test } from 'vitest';
import { SlotLedger } from '../../src/slots/slot-ledger.ts';
import type { SlotUse } from '../../src/slots/slot-messages.ts';

const leaseMs = 60_000;

function setup({
  known = [] as string[],
  lost = [] as string[],
  servers = {} as Record<string, number>,
} = {}) {
  let at = 0;
  const ended = new Set<string>();
  const held = new Map<string, number>();
  const told: string[] = [];
  const limits = new Map(Object.entries(servers));
  const ledger = new SlotLedger({
    leaseMs,
    servers: limits,
    known,
    lost,
    mayGrant: () => true,
    hasEnded: (id) => ended.has(id),
    now: () => at,
  });
  const use = (sourceId: string, more: Partial<SlotUse> = {}): SlotUse => ({
    sourceId,
    accountId: sourceId.slice(0, 1),
    max: 10,
    servers: ['db:1'],
    held: 0,
    returned: 0,
    wanted: 0,
    ...more,
  });
  const join = (id: string, uses: SlotUse[] = []) => {
    for (const { sourceId, held: count } of uses) held.set(`${id} ${sourceId}`, count);
    ledger.report(id, uses, {
      send: (sourceId, { granted = 0, recalled = 0, contended, blocked }) => {
        const name = `${id} ${sourceId}`;
        held.set(name, (held.get(name) ?? 0) + granted);
        if (recalled > 0) told.push(`${name} returns ${recalled}`);
        if (blocked) told.push(`${name} blocked`);
        if (contended !== undefined) told.push(`${name} ${contended ? 'contended' : 'alone'}`);
      },
      expired: () => {
        told.push(`${id} expired`);
        for (const name of held.keys()) if (name.startsWith(`${id} `)) held.delete(name);
      },
    });
  };
  const want = (id: string, sourceId: string, wanted: number) =>
    ledger.update(id, [use(sourceId, { wanted })]);
  const giveBack = (id: string, sourceId: string, returned: number, wanted = 0) => {
    held.set(`${id} ${sourceId}`, (held.get(`${id} ${sourceId}`) ?? 0) - returned);
    ledger.update(id, [use(sourceId, { returned, wanted })]);
  };
  const pass = (ms: number, alive: string[] = []) => {
    for (const end = at + ms; at < end; ) {
      at += 250;
      for (const id of alive) ledger.heard(id);
      ledger.tick();
    }
  };
  const sleep = (ms: number) => {
    at += ms;
    ledger.tick();
  };
  const of = (id: string, sourceId: string) => held.get(`${id} ${sourceId}`) ?? 0;
  const count = (text: string) => told.filter((line) => line.startsWith(text)).length;
  return { ledger, use, join, want, giveBack, pass, sleep, of, told, count, ended };
}

test('grants up to the limit of the source over all executors', () => {
  const { join, want, of } = setup();
  join('e1');
  join('e2');
  want('e1', 'a1', 8);
  want('e2', 'a1', 8);
  expect([of('e1', 'a1'), of('e2', 'a1')]).toEqual([8, 2]);
});

test('recalls slots until all who wait have the same', () => {
  const { join, want, giveBack, of, count, told } = setup();
  join('e1');
  join('e2');
  want('e1', 'a1', 10);
  want('e2', 'a1', 10);
  expect(told).toContain('e1 a1 contended');
  expect(count('e1 a1 returns 1')).toBe(5);
  giveBack('e1', 'a1', 5, 3);
  expect([of('e1', 'a1'), of('e2', 'a1')]).toEqual([5, 5]);
  expect(count('e2 a1 returns')).toBe(0);
  want('e1', 'a1', 0);
  want('e2', 'a1', 0);
  expect(told.slice(-2).sort()).toEqual(['e1 a1 alone', 'e2 a1 alone']);
});

test('an executor that joins learns that others wait', () => {
  const { use, join, told } = setup({ known: ['e1', 'e2'] });
  join('e1', [use('a1', { held: 6, wanted: 4 })]);
  join('e2', [use('a1', { held: 4 })]);
  expect(told.filter((line) => line.endsWith('contended'))).toEqual(['e1 a1 contended', 'e2 a1 contended']);
});

test('an executor without a slot gets a turn, even if there is only one', () => {
  const { ledger, use, join, want, giveBack, pass, of, count } = setup();
  join('e1', [use('a1', { max: 1, held: 1 })]);
  join('e2');
  ledger.update('e2', [use('a1', { max: 1, wanted: 1 })]);
  expect(count('e1 a1 returns')).toBe(0);
  pass(750, ['e1', 'e2']);
  expect(count('e1 a1 returns')).toBe(1);
  giveBack('e1', 'a1', 1);
  expect(of('e2', 'a1')).toBe(1);
  want('e2', 'a1', 0);
});

test('the slots of a killed executor return soon, but not before its sessions have ended', () => {
  const { ledger, join, want, pass, of } = setup();
  join('e1');
  join('e2');
  want('e1', 'a1', 10);
  want('e2', 'a1', 4);
  ledger.lost('e1');
  pass(4_500, ['e2']);
  expect(of('e2', 'a1')).toBe(0);
  pass(1_000, ['e2']);
  expect(of('e2', 'a1')).toBe(4);
});

test('an executor that comes back keeps what it has', () => {
  const { ledger, use, join, want, pass, of } = setup();
  join('e1');
  join('e2');
  want('e1', 'a1', 10);
  ledger.lost('e1');
  pass(2_000, ['e2']);
  join('e1', [use('a1', { held: 10 })]);
  want('e2', 'a1', 4);
  pass(20_000, ['e1', 'e2']);
  expect(of('e2', 'a1')).toBe(0);
});

test('the slots of a silent executor return after its lease, also if its stream ends before', () => {
  const { ledger, join, want, pass, of, told } = setup();
  join('e1');
  join('e2');
  want('e1', 'a1', 10);
  want('e2', 'a1', 4);
  pass(20_000, ['e2']);
  ledger.lost('e1');
  pass(39_000, ['e2']);
  expect(of('e2', 'a1')).toBe(0);
  pass(2_000, ['e2']);
  expect(of('e2', 'a1')).toBe(4);
  expect(told).toContain('e1 expired');
});

test('a new owner grants nothing until all known executors have reported', () => {
  const { use, join, want, of } = setup({ known: ['e1', 'e2'] });
  join('e1');
  want('e1', 'a1', 10);
  expect(of('e1', 'a1')).toBe(0);
  join('e2', [use('a1', { held: 7 })]);
  expect(of('e1', 'a1')).toBe(3);
});

test('a known executor that does not report is awaited for one lease', () => {
  const { join, want, pass, of } = setup({ known: ['e1', 'gone'] });
  join('e1');
  want('e1', 'a1', 10);
  pass(59_000, ['e1']);
  expect(of('e1', 'a1')).toBe(0);
  pass(2_000, ['e1']);
  expect(of('e1', 'a1')).toBe(10);
});

test('while a known executor is missing, the others share what they have reported, and no more', () => {
  const { use, join, want, giveBack, pass, of, count } = setup({
    known: ['e1', 'e2', 'gone'],
    servers: { 'db:1': 20 },
  });
  join('e1', [use('a1', { held: 6 })]);
  join('e2');
  want('e2', 'a1', 4);
  expect(of('e2', 'a1')).toBe(0);
  giveBack('e1', 'a1', count('e1 a1 returns'), 4);
  expect([of('e1', 'a1'), of('e2', 'a1')]).toEqual([3, 3]);
  // An executor that comes back with what it had adds nothing.
  join('e2', [use('a1', { held: 3, wanted: 4 })]);
  // Nobody reported anything of this source of the same server.
  want('e2', 'a2', 1);
  pass(59_000, ['e1', 'e2']);
  expect([of('e1', 'a1'), of('e2', 'a1'), of('e2', 'a2')]).toEqual([3, 3, 0]);
  pass(2_000, ['e1', 'e2']);
  expect(of('e1', 'a1') + of('e2', 'a1')).toBe(10);
  expect(of('e2', 'a2')).toBe(1);
});

test('an executor that the former owner knew to be killed is awaited only until its sessions have ended', () => {
  const { ledger, use, join, want, pass, of } = setup({ known: ['e1', 'killed'], lost: ['killed'] });
  expect(ledger.lostExecutors).toEqual(['killed']);
  join('e1', [use('a1', { held: 2 })]);
  want('e1', 'a1', 4);
  pass(4_500, ['e1']);
  expect(of('e1', 'a1')).toBe(2);
  pass(1_000, ['e1']);
  expect(of('e1', 'a1')).toBe(6);
  expect([ledger.executors, ledger.lostExecutors]).toEqual([['e1'], []]);
});

test('the owner knows an executor whose stream has ended from one that is silent', () => {
  const { ledger, join, pass } = setup();
  join('killed');
  join('paused');
  pass(20_000, ['killed']);
  ledger.lost('killed');
  ledger.lost('paused');
  expect(ledger.lostExecutors).toEqual(['killed']);
  join('killed');
  expect(ledger.lostExecutors).toEqual([]);
});

test('a pause of the catalog does not count as silence of the executors', () => {
  const { join, want, pass, sleep, of } = setup();
  join('e1');
  join('e2');
  want('e1', 'a1', 10);
  want('e2', 'a1', 1);
  sleep(100_000);
  pass(50_000, ['e2']);
  expect(of('e2', 'a1')).toBe(0);
});

test('executors that hold more than the limit give the excess back', () => {
  const { use, join, count } = setup();
  join('e1', [use('a1', { held: 8 })]);
  join('e2', [use('a1', { held: 6 })]);
  expect(count('e1 a1 returns') + count('e2 a1 returns')).toBe(4);
});

test('accounts share a server fairly, whatever their sources', () => {
  const { join, want, giveBack, of, count } = setup({ servers: { 'db:1': 6 } });
  join('e1');
  want('e1', 'a1', 4);
  want('e1', 'a2', 4);
  expect([of('e1', 'a1'), of('e1', 'a2')]).toEqual([4, 2]);
  want('e1', 'b1', 4);
  giveBack('e1', 'a1', count('e1 a1 returns'));
  giveBack('e1', 'a2', count('e1 a2 returns'));
  expect(of('e1', 'b1')).toBe(3);
  expect(of('e1', 'a1') + of('e1', 'a2')).toBe(3);
});

test('frees the slots of a process that has ended a second after that, also if it was silent', () => {
  const { ledger, join, want, pass, of, ended } = setup();
  join('e1');
  join('e2');
  want('e1', 'a1', 10);
  pass(20_000, ['e2']);
  ledger.lost('e1');
  want('e2', 'a1', 10);
  pass(20_000, ['e2']);
  expect(of('e2', 'a1')).toBe(0);
  ended.add('e1');
  pass(1_000, ['e2']);
  expect(of('e2', 'a1')).toBe(0);
  pass(500, ['e2']);
  expect(of('e2', 'a1')).toBe(10);
});

test('does not wait for executors of the former owner that have ended', () => {
  const { ledger, join, want, pass, of, ended } = setup({ known: ['e1', 'e2'] });
  ended.add('e1');
  ended.add('e2');
  join('e3');
  want('e3', 'a1', 10);
  expect(ledger.isSettled).toBe(false);
  pass(1_500, ['e3']);
  expect(ledger.isSettled).toBe(true);
  expect(of('e3', 'a1')).toBe(10);
});

test('tells those who have no slot if all of them lie at executors that do not respond, until one does', () => {
  const { ledger, join, want, pass, told, count } = setup();
  for (const id of ['e1', 'e2', 'e3']) join(id);
  want('e1', 'a1', 5);
  want('e2', 'a1', 5);
  want('e3', 'a1', 1);
  pass(2_000, ['e3']);
  expect(count('e3 a1 blocked')).toBe(0);
  pass(1_000, ['e3']);
  expect(count('e3 a1 blocked')).toBeGreaterThan(0);
  expect(told.filter((line) => /^e[12] a1 blocked/.test(line))).toEqual([]);
  told.length = 0;
  ledger.heard('e2');
  pass(1_000, ['e2', 'e3']);
  expect(count('e3 a1 blocked')).toBe(0);
});
