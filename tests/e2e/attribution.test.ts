import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { Client } from '@modelcontextprotocol/client';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findCommand } from '../../tools/databases/process.ts';
import { type AgentsHub, loopback, startAgentsHub } from '../support/browser/agents-hub.ts';
import { executablePath, sharedBrowser } from '../support/browser/chromium.ts';
import { connectByAddress, consent } from '../support/browser/oauth-client.ts';
import { createAgent } from '../support/browser/provider.ts';
import { sourceBody } from '../support/hub.ts';

type Send = (method: string, path: string, body?: object) => Promise<any>;
type Way = 'console' | 'command line' | 'agent' | 'key';

interface Person {
  name: string;
  personId: string;
  keyId: string;
  key: string;
  page: Page;
  agent: Client;
  /** The directory with the profile of the command line. */
  home: string;
}

const program = fileURLToPath(new URL('../../packages/cli/src/main.ts', import.meta.url));
const roles = { Grace: 'admin', Joan: 'editor', Mary: 'viewer' } as const;
const names = Object.keys(roles) as (keyof typeof roles)[];
/** What the audit said that a row did. */
const entriesOf = new Map<Row, any[]>();
/** What the actions are about. The operator made them. */
const ids: Record<string, string> = {};

/** What a person does over the API, by its action in the audit. Other ways have arguments of their own. */
const requests: Record<string, () => [method: string, path: string, body: object]> = {
  'hub.create': () => ['POST', '/v1/hubs', { label: 'another' }],
  'hub.update': () => ['PUT', `/v1/hubs/${ids.hubId}`, { label: 'renamed' }],
  'folder.create': () => ['POST', `/v1/hubs/${ids.hubId}/folders`, { label: 'a folder' }],
  'source.create': () => ['POST', '/v1/sources', sourceBody(ids.hubId as string)],
  'source.update': () => ['PUT', `/v1/sources/${ids.sourceId}`, { label: 'renamed' }],
  'query.create': () => ['POST', '/v1/queries', { ...draft(), label: 'new' }],
  'query.update': () => ['PUT', `/v1/queries/${ids.queryId}`, { meta: { label: 'renamed' } }],
  'query.execute': () => ['POST', '/v1/queries/execute', { queryId: ids.queryId }],
  'board.create': () => ['POST', '/v1/boards', { hubId: ids.hubId, label: 'b', cards: [] }],
  'watch.create': () => ['POST', '/v1/watches', watch()],
  'destination.create': () => ['POST', '/v1/destinations', { label: 'd', url: 'https://example.com/' }],
  'key.create': () => ['POST', '/v1/keys', { name: 'k', scopes: ['hubs:read'] }],
  'grant.create': () => ['POST', '/v1/grants', { who: { group: 'x' }, role: 'viewer' }],
  'client.create': () => ['POST', '/v1/clients', { name: 'c', redirectUris: ['https://c.example/'] }],
  'classifier.create': () => ['POST', '/v1/classifiers', { name: 'new' }],
  'classifier.train': () => ['POST', `/v1/classifiers/${ids.classifierId}/train`, { examples: [example] }],
  'classifier.predict': () => ['POST', `/v1/classifiers/${ids.classifierId}/predict`, { context: 'good' }],
  'text.summarize': () => ['POST', '/v1/ai/summarize', { context: [story] }],
};
const story = 'The hub stores queries. People execute them. The audit names who did.';
const example = { label: 'glad', context: 'what a good day' };
const draft = () => ({ hubId: ids.hubId, sourceId: ids.sourceId, query: 'SELECT 1 AS one' });
const schedule = { cron: '0 0 1 1 *', timeZone: 'UTC' };
const watch = () => ({ hubId: ids.hubId, queryId: ids.queryId, label: 'w', when: 'always', schedule });

const tool = (name: string, args: object = {}) => JSON.stringify({ name, arguments: args });
const read = tool('read_viewed');
const write = tool('write_viewed');
const classify = tool('classify__mood', { text: 'good' });
const summarize = tool('summarize', { texts: [story] });

type Row = [who: keyof typeof roles, way: Way, action: string, what?: string | (() => string[])];

const table: Row[] = [
  ['Grace', 'console', 'hub.create'],
  ['Grace', 'console', 'source.create'],
  ['Grace', 'console', 'destination.create'],
  ['Grace', 'console', 'key.create'],
  ['Grace', 'console', 'grant.create'],
  ['Grace', 'command line', 'grant.create', () => ['people', 'grant', '--group', 'y', '--role', 'viewer']],
  [
    'Grace',
    'command line',
    'key.create',
    () => ['keys', 'create', '--name', 'nightly', '--scopes', 'hubs:read'],
  ],
  ['Grace', 'command line', 'query.execute', () => ['run', ids.queryId as string]],
  ['Grace', 'agent', 'query.execute', read],
  ['Grace', 'agent', 'query.execute', write],
  ['Grace', 'agent', 'classifier.predict', classify],
  ['Grace', 'agent', 'text.summarize', summarize],
  ['Grace', 'key', 'hub.update'],
  ['Grace', 'key', 'source.update'],
  ['Grace', 'key', 'client.create'],
  ['Joan', 'console', 'folder.create'],
  ['Joan', 'console', 'query.create'],
  ['Joan', 'console', 'query.update'],
  ['Joan', 'console', 'classifier.create'],
  ['Joan', 'console', 'board.create'],
  ['Joan', 'command line', 'query.execute', () => ['run', ids.queryId as string]],
  ['Joan', 'command line', 'classifier.train', () => ['train', 'mood', ids.examples as string]],
  ['Joan', 'command line', 'classifier.predict', () => ['predict', 'mood', 'good']],
  ['Joan', 'command line', 'watch.run', () => ['watches', 'run', ids.watchId as string]],
  ['Joan', 'agent', 'query.execute', read],
  ['Joan', 'agent', 'query.execute', write],
  ['Joan', 'agent', 'classifier.predict', classify],
  ['Joan', 'key', 'query.create'],
  ['Joan', 'key', 'watch.create'],
  ['Joan', 'key', 'classifier.train'],
  ['Mary', 'console', 'query.execute'],
  ['Mary', 'console', 'classifier.predict'],
  ['Mary', 'console', 'text.summarize'],
  ['Mary', 'command line', 'query.execute', () => ['run', ids.queryId as string]],
  ['Mary', 'command line', 'classifier.predict', () => ['predict', 'mood', 'good']],
  ['Mary', 'command line', 'text.summarize', () => ['summarize', ids.story as string]],
  ['Mary', 'agent', 'query.execute', read],
  ['Mary', 'agent', 'text.summarize', summarize],
  ['Mary', 'key', 'query.execute'],
  ['Mary', 'key', 'classifier.predict'],
];

describe.skipIf(executablePath === undefined || findCommand('openssl') === undefined)(
  'what people do (needs Chromium and openssl)',
  () => {
    let on: AgentsHub;
    let dir: string;
    const people = {} as Record<string, Person>;
    /** The actions of the audit that the rows have accounted for. */
    const seen = new Set<string>();

    beforeAll(async () => {
      on = await startAgentsHub();
      dir = await mkdtemp(join(tmpdir(), 'datahub-attribution-'));
      const operator: Send = (method, path, body) => on.hub.api.ok(on.hub.api.call(method, path, { body }));
      ids.hubId = on.hubIds[0] as string;
      [{ sourceId: ids.sourceId }] = await operator('GET', `/v1/sources?hubId=${ids.hubId}`);
      ids.queryId = (await operator('POST', '/v1/queries', { ...draft(), label: 'q' })).config.query.queryId;
      ids.classifierId = (await operator('POST', '/v1/classifiers', { name: 'mood' })).id;
      await operator(...(requests['classifier.train'] as () => [string, string, object])());
      ids.watchId = (await operator('POST', '/v1/watches', watch())).watchId;
      [ids.examples, ids.story] = [join(dir, 'examples.ndjson'), join(dir, 'story.txt')];
      await writeFile(ids.examples, `${JSON.stringify(example)}\n`);
      await writeFile(ids.story, story);
      for (const name of names) people[name] = await begin(name);
    });
    afterAll(async () => {
      for (const { page, agent } of Object.values(people)) {
        await agent.close();
        await page.context().close();
      }
      await on?.close();
      await rm(dir, { recursive: true, force: true });
    });

    /** Signs a person in, in each way. All make a key as admins, and have their own role then. */
    async function begin(name: keyof typeof roles): Promise<Person> {
      const subject = name.toLowerCase();
      const grantOf = (role: string) =>
        on.hub.api.ok(on.hub.api.post('/v1/grants', { who: { subject }, role }));
      on.provider.people.set(subject, { name });
      on.provider.who = subject;
      const { grantId } = await grantOf('admin');
      const page = await (await (await sharedBrowser()).newContext()).newPage();
      await page.goto(`${on.origin}/auth/login`);
      await page.waitForURL(`${on.origin}/`);
      const { personId } = await inPage(page)('GET', '/v1/people/current');
      const own = { name: 'own', scopes: ['*'] };
      const { key, keyId } = await inPage(page)('POST', '/v1/keys', own);
      await grantOf(roles[name]);
      await on.hub.api.ok(on.hub.api.delete(`/v1/grants/${grantId}`));
      const browser = createAgent();
      await browser.visit(`${on.origin}/auth/login`);
      const options = { redirectUrl: loopback, registered: on.registered };
      const { client } = await connectByAddress({ person: browser, origin: on.origin }, options, (fields) => {
        for (const scope of ['classifiers:predict', 'queries:execute:write'])
          if (name !== 'Mary') fields.append('scope_granted', scope);
      });
      const person = { name, personId, key, keyId, page, agent: client, home: join(dir, name) };
      const login = start(person, ['login', '--with', 'browser', '--url', on.origin]);
      let shown = '';
      while (!/authorize\S+\n/.test(shown)) shown += (await once(login.stderr as never, 'data'))[0];
      const ended = once(login, 'close');
      await fetch(await consent(browser, new URL(/http\S+/.exec(shown)?.[0] ?? '')));
      expect(await ended).toEqual([0, null]);
      return person;
    }

    const start = ({ home }: Pick<Person, 'home'>, args: readonly string[]): ChildProcess =>
      spawn(process.execPath, [program, ...args], {
        env: { PATH: process.env.PATH, HOME: home, BROWSER: 'true' },
        stdio: ['ignore', 'pipe', 'pipe'],
      });

    /** As the console does: with the cookie that the browser adds. */
    const inPage =
      (page: Page): Send =>
      async (method, path, body) => {
        const headers = { 'content-type': 'application/json' };
        const sent = body === undefined ? { method } : { method, headers, body: JSON.stringify(body) };
        const done = `fetch(${JSON.stringify(path)}, ${JSON.stringify(sent)})`;
        const asked = `${done}.then(async (answer) => [answer.status, await answer.text()])`;
        const [status, answer] = (await page.evaluate(asked)) as [number, string];
        expect(status, answer).toBe(200);
        return JSON.parse(answer);
      };

    const acts: Record<Way, (person: Person, action: string, what: unknown) => Promise<void>> = {
      console: async ({ page }, action) => {
        await inPage(page)(...(requests[action] as () => [string, string, object])());
      },
      key: async ({ key }, action) => {
        const [method, path, body] = (requests[action] as () => [string, string, object])();
        await on.hub.api.ok(on.hub.api.call(method, path, { body, key }));
      },
      agent: async ({ agent }, _, what) => {
        const result = await agent.callTool(JSON.parse(what as string));
        expect(result.isError, JSON.stringify(result)).not.toBe(true);
      },
      'command line': async (person, _, what) => {
        const child = start(person, (what as () => string[])());
        const [problem, [code]] = await Promise.all([text(child.stderr as never), once(child, 'close')]);
        expect(code, problem).toBe(0);
      },
    };

    /** The entries of an action that no row before has accounted for. Executions are counted in one entry for a while. */
    const newOf = async (action: string): Promise<any[]> => {
      const entries: any[] = await on.hub.api.ok(on.hub.api.get(`/v1/audit?action=${action}&limit=1000`));
      return entries.filter(({ entryId, count }) => !seen.has(`${entryId} ${count}`));
    };

    it('is forty actions', () => {
      expect(table).toHaveLength(40);
    });

    const keyIdOf = ([who, way]: Row) => {
      const { keyId, personId } = people[who] as Person;
      return way === 'key' ? keyId : personId;
    };

    /**
     * Gateways say every five seconds what was executed, so the rows act in rounds. In each, an action has one row of each
     * person and of each key, and as many new entries as rows.
     */
    it('is in the audit once', async () => {
      const rounds: Row[][] = [];
      const actors = new Map<string, number>();
      for (const row of table) {
        const actor = `${row[2]} ${keyIdOf(row)}`;
        const round = actors.get(actor) ?? 0;
        actors.set(actor, round + 1);
        rounds[round] = [...(rounds[round] ?? []), row];
      }
      for (const rows of rounds) {
        const byAction = Map.groupBy(rows, ([, , action]) => action);
        for (const action of byAction.keys())
          for (const { entryId, count } of await newOf(action)) seen.add(`${entryId} ${count}`);
        for (const [who, way, action, what] of rows) await acts[way](people[who] as Person, action, what);
        for (const [action, those] of byAction) {
          await expect.poll(() => newOf(action), { message: action }).toHaveLength(those.length);
          const entries = await newOf(action);
          for (const row of those)
            entriesOf.set(
              row,
              entries.filter(({ keyId }) => keyId === keyIdOf(row)),
            );
        }
      }
    });

    it.each(table.map((row) => ({ row, name: row.slice(0, 3).join(', ') })))(
      'names $name (%#)',
      ({ row }) => {
        const [who] = row;
        const { personId } = people[who] as Person;
        expect(entriesOf.get(row)).toEqual([
          expect.objectContaining({ person: expect.objectContaining({ personId, name: who }) }),
        ]);
      },
    );

    it('is over within five seconds after a person was removed, except by a key that was handed to the hub', async () => {
      const { personId, page, agent, key, home } = people.Grace as Person;
      const kept = await inPage(page)('POST', '/v1/keys', { name: 'kept', scopes: ['hubs:read'] });
      await on.hub.api.ok(on.hub.api.put(`/v1/keys/${kept.keyId}`, { personId: null }));
      const profile = JSON.parse(await readFile(join(home, '.config/datahub/profile.json'), 'utf8'));
      const byKey = async (own: string) => (await on.hub.api.get('/v1/hubs', { key: own })).status;
      const ways: Record<string, () => Promise<unknown>> = {
        session: () => page.evaluate(`fetch('/v1/hubs').then(({ status }) => status)`),
        'command line': () => byKey(profile.signIn.accessToken),
        agent: () =>
          agent.listTools().then(
            () => 200,
            () => 401,
          ),
        key: () => byKey(key),
      };
      for (const ask of Object.values(ways)) expect(await ask()).toBe(200);
      await on.hub.api.ok(on.hub.api.delete(`/v1/people/${personId}`));
      const began = performance.now();
      const took = Object.entries(ways).map(async ([name, ask]) => {
        await expect.poll(ask, { interval: 20 }).toBe(401);
        return [name, Math.round(performance.now() - began)] as const;
      });
      const ms = Object.fromEntries(await Promise.all(took));
      console.log(`out after the removal, in ms: ${JSON.stringify(ms)}`);
      expect(Math.max(...Object.values(ms))).toBeLessThan(5_000);
      expect(await byKey(kept.key)).toBe(200);
    });
  },
);
