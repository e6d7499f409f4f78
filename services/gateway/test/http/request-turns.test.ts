import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate as endOfTurn } from 'node:timers/promises';
import { afterEach, expect, it, vi } from 'vitest';
import { createRequestTurns } from '../../src/http/request-turns.ts';

afterEach(() => vi.restoreAllMocks());

function setUp() {
  const started: string[] = [];
  const turns = createRequestTurns(({ url }) => started.push(url as string));
  const send = (url: string, key?: string, session?: string) => {
    const response = { destroyed: false };
    const headers = {
      ...(key === undefined ? {} : { 'x-service-api-key': key }),
      ...(session === undefined ? {} : { cookie: `other=1; __Host-datahub=${session}` }),
    };
    const request = { url, headers };
    turns.handle(request as unknown as IncomingMessage, response as ServerResponse);
    return response;
  };
  return { started, turns, send };
}

it('starts a request of an old connection at once', () => {
  const { started, send } = setUp();
  send('a');
  expect(started).toEqual(['a']);
});

it('starts in later turns what arrives when the requests of a turn have taken 8 ms', async () => {
  let busyMs = 5;
  let now = performance.now();
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  const started: string[] = [];
  const turns = createRequestTurns(({ url }) => {
    started.push(url as string);
    now += busyMs;
  });
  const send = (url: string) =>
    turns.handle({ url, headers: {} } as unknown as IncomingMessage, {} as ServerResponse);
  for (let i = 0; i < 20; i++) send(String(i));
  expect(started).toEqual(['0', '1']);
  busyMs = 0;
  while (started.length < 20) await endOfTurn();
  send('after');
  expect(started.at(-1)).toBe('after');
});

it('starts the first request of a connection in the turn in which it arrives', async () => {
  const { started, turns, send } = setUp();
  turns.connected();
  await endOfTurn();
  send('a');
  await endOfTurn();
  expect(started).toEqual(['a']);
});

it('takes 300 connections of one key, then those of others, before most of the first requests', async () => {
  const { started, turns, send } = setUp();
  turns.connected();
  for (let i = 0; i < 300; i++) {
    await endOfTurn();
    send(`attack ${i}`, 'attacker');
    turns.connected();
  }
  await endOfTurn();
  expect(started.length).toBeLessThan(60);
  send('other', 'other');
  send('health');
  const before = started.length;
  while (started.length < 302) await endOfTurn();
  expect(started.slice(before, before + 4).filter((url) => !url.startsWith('attack'))).toEqual([
    'other',
    'health',
  ]);
  expect(new Set(started).size).toBe(302);
});

it('starts the requests of each session in turn with those that have no key', async () => {
  const { started, turns, send } = setUp();
  turns.connected();
  for (let i = 0; i < 100; i++) send(`attack ${i}`);
  for (let i = 0; i < 100; i++) send(`busy ${i}`, undefined, 'busy');
  send('person', undefined, 'person');
  while (!started.includes('person')) await endOfTurn();
  expect(started.indexOf('person')).toBeLessThan(3);
});

it('starts requests although connections never cease to arrive', async () => {
  const { started, turns, send } = setUp();
  for (let i = 0; i < 2_000; i++) {
    turns.connected();
    send(String(i));
    await endOfTurn();
  }
  expect(started.length).toBeGreaterThan(1_200);
});

it('drops a request whose client has left', async () => {
  const { started, turns, send } = setUp();
  turns.connected();
  send('left').destroyed = true;
  send('stays');
  for (let i = 0; i < 3; i++) await endOfTurn();
  expect(started).toEqual(['stays']);
});
