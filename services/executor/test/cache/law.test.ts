/**
 * Tests the guarantees of the result cache with random interleavings of calls, changes, expiry, failures and refreshes.
 * No call gets an answer that is too old, that is older than a change before the call or than a failed refresh, or that
 * belongs to another account, other values or other pinned variables.
 */

import type { Principal } from '@datahub/proto/common/v1/principal';
import { CacheInfo_Outcome as Outcome } from '@datahub/proto/executor/v1/executor';
import type { HubError } from '@datahub/service-kit/call/error';
import { expect, test } from 'vitest';
import { createRandom } from '../../../../tests/support/random.ts';
import { scaled } from '../../../../tests/support/scale.ts';
import type { QueryDefinition } from '../../src/definitions/definition.ts';
import { type Call, createCachedPipeline, type Pending, settle } from '../fakes/cached-pipeline.ts';
import { noLimits, source } from '../fakes/pipeline.ts';

const interleavings = scaled(600, 100_000);
const steps = 40;

/** The content of an answer: everything that it depends on. */
interface Told {
  account: string;
  query: string;
  version: string;
  settings: string;
  params: unknown[];
  startedAt: number;
  begunAt: number;
}

interface Asked {
  call: Call;
  expected: Omit<Told, 'startedAt' | 'begunAt'>;
  rules: NonNullable<QueryDefinition['cache']>;
  /** No answer may come from an execution that began before this time, because a later refresh failed. */
  notBefore: number;
}

interface Wish {
  account: string;
  /** The variables that the key pins, as JSON. */
  pinned: string;
  x: number;
  y: number;
}

class World {
  readonly random: () => number;
  readonly asked: Asked[] = [];
  readonly definitions = new Map<string, QueryDefinition>();
  /** The times of failed refreshes by entry. */
  readonly failedSince = new Map<string, number>();
  readonly wishes = new Map<string, Wish>();
  readonly pipeline: ReturnType<typeof createCachedPipeline>;
  outcomes = new Set<number>();

  constructor(seed: number) {
    this.random = createRandom(seed);
    for (const account of ['a', 'b']) {
      this.definitions.set(`q-${account}`, {
        queryId: `q-${account}`,
        accountId: account,
        hubId: 'h',
        command: 'SELECT',
        text: 'SELECT :x, :y',
        variables: [{ key: 'y', valueJson: '0' }],
        notNull: [],
        version: 1,
        cache: this.rules(),
        // Both accounts use the same source id.
        source: { ...source, accountId: account },
      });
    }
    this.pipeline = createCachedPipeline({
      bytesMax: 65_536,
      definitionOf: (queryId) => this.definitions.get(queryId) as QueryDefinition,
      answerOf: ({ key, params }, { accountId, settingsVersion }, times) => {
        const [query = '', version = ''] = key.split('.');
        return JSON.stringify({
          account: accountId,
          query,
          version,
          settings: settingsVersion,
          params,
          ...times,
        });
      },
    });
  }

  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.random() * list.length)] as T;
  }

  rules() {
    const maxAgeS = this.pick([0, 1, 3]);
    const staleS = this.pick([0, 2, 5]);
    return { maxAgeS, staleS, ageMsMax: 1_000 * (maxAgeS + staleS) || 1, validate: undefined };
  }

  /** Returns a random call. Most calls are equal, so that they share entries and flights. */
  wish(): Wish {
    return {
      account: this.pick(['a', 'a', 'b']),
      pinned: this.pick(['', '', '{"y":1}', '{"y":2}']),
      x: this.pick([1, 1, 1, 2]),
      // The values differ from the pinned ones, so that they identify an entry.
      y: this.pick([0, 0, 0, 3]),
    };
  }

  ask(wish = this.wish()): void {
    const { account, pinned, x, y } = wish;
    const queryId = `q-${account}`;
    const definition = this.definitions.get(queryId) as QueryDefinition;
    const contextJson = JSON.stringify({ x, y });
    const principal: Principal = {
      accountId: account,
      keyId: `k${pinned}`,
      scopes: ['*'],
      limits: { ...noLimits, contextJson: pinned },
    };
    const bound = [x, pinned === '' ? y : (JSON.parse(pinned) as { y: number }).y];
    const { version } = definition;
    const { settingsVersion: settings } = definition.source;
    const expected = { account, query: queryId, version: String(version), settings, params: bound };
    this.wishes.set(JSON.stringify(expected), wish);
    this.asked.push({
      call: this.pipeline.call(principal, { queryId, contextJson }),
      expected,
      rules: definition.cache as Asked['rules'],
      notBefore: this.failedSince.get(JSON.stringify(expected)) ?? Number.NEGATIVE_INFINITY,
    });
  }

  change(): void {
    const queryId = this.pick([...this.definitions.keys()]);
    const old = this.definitions.get(queryId) as QueryDefinition;
    const isSource = this.random() < 0.5;
    const settingsVersion = String(Number(old.source.settingsVersion) + 1);
    this.definitions.set(queryId, {
      ...old,
      ...(isSource
        ? { source: { ...old.source, settingsVersion } }
        : { version: old.version + 1, cache: this.rules() }),
    });
    if (this.random() < 0.5) this.pipeline.answers.invalidate([isSource ? old.source.sourceId : queryId]);
  }

  async step(): Promise<void> {
    const { clock, pending } = this.pipeline;
    const running = [...pending];
    const one = this.pick(running);
    const dice = this.random();
    if (dice < 0.35) this.ask();
    else if (dice < 0.55) clock.now += this.pick([1, 400, 1_000, 2_500]);
    else if (dice < 0.62) this.change();
    else if (dice < 0.66) {
      const leaver = this.pick(this.asked);
      leaver?.call.leave();
      this.ask(leaver && this.wishes.get(JSON.stringify(leaver.expected)));
    } else if (one?.begunAt === undefined) one?.begin();
    else if (dice < 0.9) one.finish(this.pick([0, 0, 0, 5_000, 20_000]));
    else await this.fail(one);
    await settle();
    this.check();
  }

  /** Fails an execution. The next call shows whether the old answer is still cached. */
  async fail(one: Pending): Promise<void> {
    one.fail();
    if (!one.isFlight) return;
    const { startedAt, begunAt, ...told } = JSON.parse(one.answer) as Told;
    const name = JSON.stringify(told);
    this.failedSince.set(name, startedAt);
    await settle();
    this.ask(this.wishes.get(name));
  }

  check(): void {
    const { clock, answers } = this.pipeline;
    expect(answers.bytes).toBeLessThanOrEqual(65_536);
    for (const [index, { call, expected, rules, notBefore }] of [...this.asked.entries()].reverse()) {
      if (call.endedAt === undefined) continue;
      this.asked.splice(index, 1);
      // No call fails because another caller has left.
      if (call.err !== undefined && !call.hasLeft)
        expect(['SQL_REJECTED', 'SOURCE_BUSY']).toContain((call.err as HubError).code);
      if (call.err !== undefined) continue;
      const { startedAt, begunAt, ...told } = JSON.parse(call.answer) as Told;
      expect(told).toEqual(expected);
      const age = clock.now - startedAt;
      const isOwn = begunAt >= call.startedAt;
      if (!isOwn && age > rules.ageMsMax)
        throw new Error(`A sent answer was ${age} ms old, and ${rules.ageMsMax} ms are allowed.`);
      expect(startedAt).toBeGreaterThanOrEqual(notBefore);
      if (call.info?.ageMs !== undefined) expect(call.info.ageMs).toBeGreaterThanOrEqual(age);
      if (call.info !== undefined) this.outcomes.add(call.info.outcome);
    }
  }
}

test(`holds in ${interleavings} interleavings`, { timeout: scaled(20_000, 1_200_000) }, async () => {
  const outcomes = new Set<number>();
  for (let seed = 1; seed <= interleavings; seed++) {
    const world = new World(seed);
    try {
      for (let step = 0; step < steps; step++) await world.step();
      for (const one of world.pipeline.pending) one.fail();
      await settle();
    } catch (err) {
      throw new Error(`Seed ${seed}: ${(err as Error).message}`, { cause: err });
    }
    for (const outcome of world.outcomes) outcomes.add(outcome);
  }
  const { OUTCOME_HIT, OUTCOME_STALE, OUTCOME_MISS, OUTCOME_COLLAPSED, OUTCOME_UNCACHEABLE } = Outcome;
  expect([...outcomes].sort()).toEqual([
    OUTCOME_HIT,
    OUTCOME_STALE,
    OUTCOME_MISS,
    OUTCOME_COLLAPSED,
    OUTCOME_UNCACHEABLE,
  ]);
});
