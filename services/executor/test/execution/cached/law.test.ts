/**
 * Tests the guarantees of the result cache with random interleavings of calls, changes, expiry, failures, refreshes and
 * validations. No call gets an answer that is too old, that is older than a change before the call or than a failed
 * refresh, or that belongs to another account, other values or other pinned variables. A validation renews an answer only
 * if it read the value that the database had in the snapshot of the answer.
 */

import type { Principal } from '@datahub/proto/common/v1/principal';
import { CacheInfo_Outcome as Outcome } from '@datahub/proto/executor/v1/executor';
import type { HubError } from '@datahub/service-kit/call/error';
import { expect, test } from 'vitest';
import { createRandom } from '../../../../../tests/support/random.ts';
import { scaled } from '../../../../../tests/support/scale.ts';
import type { QueryDefinition } from '../../../src/definitions/definition.ts';
import { type Call, createCachedPipeline, type Pending, settle } from '../../fakes/cached-pipeline.ts';
import { noLimits, source } from '../../fakes/pipeline.ts';

const interleavings = scaled(600, 100_000);
const steps = 60;

/** The content of an answer: everything that it depends on. */
interface Told {
  account: string;
  query: string;
  version: string;
  settings: string;
  params: unknown[];
  /** The start of the execution, and of the snapshot of its rows. */
  startedAt: number;
  begunAt: number;
  /** The result of `validate` in that snapshot. */
  value?: number;
}

const dayMs = 86_400_000;

/** The probability of each kind of step. All other steps begin or end a statement, which fails with the probability `fail`. */
const wide = { ask: 0.3, time: 0.2, day: 0.01, change: 0.07, data: 0.06, leave: 0.04, fail: 0.3 };
const narrow = { ask: 0.15, time: 0.2, day: 0.01, change: 0, data: 0.06, leave: 0.02, fail: 0.1 };

interface CachedCall {
  call: Call;
  expected: Omit<Told, 'startedAt' | 'begunAt' | 'value'>;
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
  /** All calls are equal, and their query has a validation. */
  readonly isNarrow: boolean;
  readonly asked: CachedCall[] = [];
  readonly definitions = new Map<string, QueryDefinition>();
  /** The times of failed refreshes by entry. */
  readonly failedSince = new Map<string, number>();
  readonly wishes = new Map<string, Wish>();
  /** The finished validations by entry. */
  readonly validations = new Map<string, Told[]>();
  /** The current result of `validate`; undefined for no row. It can be the same again after a change. */
  value: number | undefined = 1;
  readonly pipeline: ReturnType<typeof createCachedPipeline>;
  outcomes = new Set<number>();

  constructor(seed: number) {
    this.random = createRandom(seed);
    this.isNarrow = seed % 2 === 0;
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
        versionNumber: 1,
        characters: 1,
        cache: this.rules(),
        // Both accounts use the same source id.
        source: { ...source, accountId: account },
      });
    }
    this.pipeline = createCachedPipeline({
      bytesMax: 65_536,
      definitionOf: (queryId) => this.definitions.get(queryId) as QueryDefinition,
      valueNow: () => this.value,
      answerOf: ({ key, params }, { accountId, settingsVersion }, seen) => {
        const [query = '', version = ''] = key.replace('.validate', '').split('.');
        return JSON.stringify({
          account: accountId,
          query,
          version,
          settings: settingsVersion,
          params,
          ...seen,
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
    // The validation has the variables of the query, so that its parameters identify the entry.
    const validate = this.isNarrow || this.random() < 0.5 ? 'SELECT :x, :y' : undefined;
    return { maxAgeS, staleS, ageMsMax: 1_000 * (maxAgeS + staleS) || 1, validate };
  }

  /** Returns a random call. Most calls are equal, so that they share entries and flights. */
  wish(): Wish {
    if (this.isNarrow) return { account: 'a', pinned: '', x: 1, y: 0 };
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
    const { versionNumber: version } = definition;
    const { settingsVersion: settings } = definition.source;
    const expected = { account, query: queryId, version: String(version), settings, params: bound };
    this.wishes.set(JSON.stringify(expected), wish);
    this.asked.push({
      call: this.pipeline.call(principal, { queryId, contextJson }),
      expected,
      rules: definition.cache as CachedCall['rules'],
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
        : { version: old.version + 1, versionNumber: old.version + 1, cache: this.rules() }),
    });
    if (this.random() < 0.5) this.pipeline.answers.invalidate([isSource ? old.source.sourceId : queryId]);
  }

  async step(): Promise<void> {
    const { clock, pending } = this.pipeline;
    const running = [...pending];
    const one = this.pick(running);
    const { fail, ...probabilities } = this.isNarrow ? narrow : wide;
    const kind = this.kindOf(probabilities);
    if (kind === 'ask') this.ask();
    else if (kind === 'time') clock.now += this.pick([1, 400, 1_000, 2_500]);
    // A pending statement would exceed its deadline.
    else if (kind === 'day') clock.now += running.length === 0 ? this.pick([dayMs / 2, dayMs]) : 0;
    else if (kind === 'change') this.change();
    else if (kind === 'data') this.value = this.pick([1, 2, 1, 2, undefined]);
    else if (kind === 'leave') {
      const leaver = this.pick(this.asked);
      leaver?.call.leave();
      this.ask(leaver && this.wishes.get(JSON.stringify(leaver.expected)));
    } else if (one?.begunAt === undefined) one?.begin();
    else if (this.random() < fail) await this.fail(one);
    else this.finish(one);
    await settle();
    this.check();
  }

  /** Returns a random kind, or undefined with the remaining probability. */
  kindOf<Kind extends string>(probabilities: Record<Kind, number>): Kind | undefined {
    let dice = this.random();
    for (const [kind, share] of Object.entries<number>(probabilities)) {
      dice -= share;
      if (dice < 0) return kind as Kind;
    }
    return undefined;
  }

  finish(one: Pending): void {
    one.finish(this.pick(this.isNarrow ? [0, 0, 0, 5_000] : [0, 0, 0, 5_000, 20_000]));
    if (!one.isValidation) return;
    const told = JSON.parse(one.answer) as Told;
    const name = nameOf(told);
    this.validations.set(name, [...(this.validations.get(name) ?? []), told]);
  }

  /** Fails an execution. The next call shows whether the old answer is still cached. */
  async fail(one: Pending): Promise<void> {
    const isLost = this.random() < 0.5;
    if (isLost) one.lose();
    else one.fail();
    // If the database rejects a validation, the query runs.
    if (!one.isFlight || (one.isValidation && !isLost)) return;
    const told = JSON.parse(one.answer) as Told;
    const name = nameOf(told);
    this.failedSince.set(name, told.startedAt);
    await settle();
    this.ask(this.wishes.get(name));
  }

  check(): void {
    expect(this.pipeline.answers.bytes).toBeLessThanOrEqual(65_536);
    for (const [index, asked] of [...this.asked.entries()].reverse()) {
      const { call, expected } = asked;
      if (call.endedAt === undefined) continue;
      this.asked.splice(index, 1);
      // No call fails because another caller has left.
      if (call.err !== undefined && !call.hasLeft)
        expect(['SQL_REJECTED', 'SOURCE_BUSY', 'SOURCE_BROKEN']).toContain((call.err as HubError).code);
      if (call.err !== undefined) continue;
      const told = JSON.parse(call.answer) as Told;
      const { startedAt, begunAt, value, ...identity } = told;
      expect(identity).toEqual(expected);
      const isValidated = call.info?.outcome === Outcome.OUTCOME_VALIDATED;
      const candidates = [...(isValidated ? [] : [told]), ...this.renewalsOf(told)];
      if (!candidates.some((one) => this.isAllowed(one, asked)))
        throw new Error(
          `This answer was sent at ${this.pipeline.clock.now} ms: ${JSON.stringify({ ...told, ...call.info, rules: asked.rules })}`,
        );
      if (call.info !== undefined) this.outcomes.add(call.info.outcome);
    }
  }

  /** Returns the validations that may renew this answer. */
  renewalsOf(told: Told): Told[] {
    const { value, begunAt, startedAt } = told;
    if (value === undefined) return [];
    return (this.validations.get(nameOf(told)) ?? []).filter(
      (one) => one.value === value && one.begunAt >= begunAt && one.startedAt - startedAt <= dayMs,
    );
  }

  /** Returns whether an answer may be sent whose age counts from the start of this execution or validation. */
  isAllowed({ startedAt, begunAt }: Told, { call, rules, notBefore }: CachedCall): boolean {
    const age = this.pipeline.clock.now - startedAt;
    const isOwn = begunAt >= call.startedAt;
    const isYoung = age <= rules.ageMsMax;
    return (isOwn || isYoung) && startedAt >= notBefore && (call.info?.ageMs ?? age) >= age;
  }
}

/** Returns the entry of an answer. */
function nameOf({ startedAt, begunAt, value, ...identity }: Told): string {
  return JSON.stringify(identity);
}

test(`holds in ${interleavings} interleavings`, { timeout: scaled(180_000, 1_200_000) }, async () => {
  const outcomes = new Set<number>();
  for (let seed = 1; seed <= interleavings; seed++) {
    const world = new World(seed);
    try {
      for (let step = 0; step < steps; step++) await world.step();
      // The query runs after a failed validation.
      while (world.pipeline.pending.size > 0) {
        for (const one of world.pipeline.pending) one.fail();
        await settle();
      }
    } catch (err) {
      throw new Error(`Seed ${seed}: ${(err as Error).message}`, { cause: err });
    }
    for (const outcome of world.outcomes) outcomes.add(outcome);
  }
  const { OUTCOME_HIT, OUTCOME_STALE, OUTCOME_MISS, OUTCOME_COLLAPSED, OUTCOME_UNCACHEABLE } = Outcome;
  const all = [OUTCOME_HIT, OUTCOME_STALE, OUTCOME_MISS, OUTCOME_COLLAPSED, OUTCOME_UNCACHEABLE];
  expect([...outcomes].sort()).toEqual([...all, Outcome.OUTCOME_VALIDATED]);
});
