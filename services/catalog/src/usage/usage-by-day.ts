/**
 * Sums of the entries that count executions, by day and by what differs in them: the key, or the query. One call can read
 * some hundred thousand entries, so each sum takes little memory.
 */

import type {
  DayUsage,
  GetQueryUsageResponse,
  KeyUsage,
  UserDayUsage,
} from '@datahub/proto/catalog/v1/catalog';
import { DistinctSketch } from '@datahub/service-kit/distinct-sketch';
import { createLoopYield } from '@datahub/service-kit/yield-to-loop';
import type { AuditDoc } from '../documents.ts';
import { dayOf } from './use-counts.ts';

/** So many sketches of a sum are merged into one. */
const sketchesMax = 8;

interface Counts {
  count: number;
  failed: number;
}

interface Sum extends Counts {
  /** True if it is of an entry of the whole day, which stands for its hours: they may be there until they are deleted. */
  isOfDay: boolean;
  /** Sketches of the signed-in users in base64. A DistinctSketch would take 1 KiB. */
  users: string[] | undefined;
}

type Varying = 'keyId' | 'resourceId';

export class UsageByDay {
  readonly #by: Varying;
  /** By the start of the day. */
  readonly #days = new Map<number, Map<string, Sum>>();

  constructor(by: Varying) {
    this.#by = by;
  }

  add(entry: AuditDoc): void {
    const { at, count, failed, hours, users } = entry;
    const isOfDay = hours !== undefined;
    const start = dayOf(at);
    const day = this.#days.get(start) ?? new Map<string, Sum>();
    this.#days.set(start, day);
    const id = entry[this.#by];
    const sum = day.get(id);
    if (sum === undefined) {
      day.set(id, { count, failed, isOfDay, users: users === undefined ? undefined : [users] });
      return;
    }
    if (isOfDay && !sum.isOfDay) Object.assign(sum, { count, failed, isOfDay });
    else if (isOfDay === sum.isOfDay) addTo(sum, entry);
    if (users !== undefined) sum.users = withUsers(sum.users, users);
  }

  removeBefore(first: number): void {
    for (const start of this.#days.keys()) if (start < first) this.#days.delete(start);
  }

  async total(): Promise<Pick<GetQueryUsageResponse, 'count' | 'failed' | 'users'>> {
    const days = await this.toDays();
    const total = { count: 0, failed: 0 };
    for (const day of days) addTo(total, day);
    return { ...total, users: await estimateOf(this.#days.values()) };
  }

  /** The oldest first. */
  async toDays(): Promise<UserDayUsage[]> {
    const days: UserDayUsage[] = [];
    const endOfTurn = createLoopYield();
    for (const [start, sums] of this.#inOrder()) {
      const total = { count: 0, failed: 0 };
      for (const sum of sums.values()) {
        addTo(total, sum);
        await endOfTurn();
      }
      days.push({ day: toDay(start), ...total, users: await estimateOf([sums]) });
    }
    return days;
  }

  /** The keys with the most executions first, and how many keys there are. */
  async toKeys(max: number): Promise<{ keys: KeyUsage[]; totalKeys: number }> {
    const totals = new Map<string, Counts>();
    const endOfTurn = createLoopYield();
    for (const sums of this.#days.values())
      for (const [id, sum] of sums) {
        const total = totals.get(id) ?? { count: 0, failed: 0 };
        totals.set(id, total);
        addTo(total, sum);
        await endOfTurn();
      }
    const most = [...totals].sort(([a, one], [b, other]) => other.count - one.count || (a < b ? -1 : 1));
    const keys: KeyUsage[] = [];
    for (const [keyId, total] of most.slice(0, max)) keys.push(await this.#toKey(keyId, total));
    return { keys, totalKeys: totals.size };
  }

  async #toKey(keyId: string, { count, failed }: Counts): Promise<KeyUsage> {
    const days: DayUsage[] = [];
    const own = new Map<string, Sum>();
    for (const [start, sums] of this.#inOrder()) {
      const sum = sums.get(keyId);
      if (sum === undefined) continue;
      days.push({ day: toDay(start), count: sum.count, failed: sum.failed });
      own.set(toDay(start), sum);
    }
    return { keyId, days, count, failed, users: await estimateOf([own]) };
  }

  #inOrder(): [start: number, Map<string, Sum>][] {
    return [...this.#days].sort(([one], [other]) => one - other);
  }
}

function addTo(sum: Counts, { count, failed }: Counts): void {
  sum.count += count;
  sum.failed += failed;
}

function withUsers(before: string[] = [], users: string): string[] {
  const all = [...before, users];
  if (all.length < sketchesMax) return all;
  const merged = new DistinctSketch();
  addUsers(merged, all);
  return [merged.toBytes().toString('base64')];
}

function addUsers(sketch: DistinctSketch, texts: readonly string[]): void {
  for (const text of texts) sketch.merge(Buffer.from(text, 'base64'));
}

async function estimateOf(all: Iterable<Map<string, Sum>>): Promise<number> {
  const merged = new DistinctSketch();
  const endOfTurn = createLoopYield();
  for (const sums of all)
    for (const { users } of sums.values()) {
      if (users !== undefined) addUsers(merged, users);
      await endOfTurn();
    }
  return merged.estimate();
}

export const toDay = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
