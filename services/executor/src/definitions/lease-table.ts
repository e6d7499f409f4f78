/** The definitions held, with their leases, and the memory of what was let go. */

import type { QueryDefinition } from './definition-cache.ts';

export interface Held {
  readonly definition: QueryDefinition;
  /** From here on somebody asks again, so that the lease is renewed before it ends. */
  renewAt: number;
  readonly leaseEndsAt: number;
  /** Until when it serves while the catalog is away; counted from the request that brought it, like the lease. */
  readonly awayEndsAt: number;
  renewing: boolean;
}

export interface HeldOptions {
  heldMax: number;
  /** Of the texts and variables of all together: what is compiled of them takes several times as much memory. */
  charactersMax?: number;
  awayMaxMs: number;
  /** Longer than any request is under way. */
  memoryMs: number;
  now: () => number;
}

const leaseMaxMs = 1_000;
const defaultCharactersMax = 16 * 1_048_576;

export class HeldDefinitions {
  /** Counts the times that something was let go. */
  step = 0;
  private readonly options: HeldOptions;
  private readonly all = new Map<string, Held>();
  private characters = 0;
  /** What was let go lately, in the order of time. */
  private readonly lately = new Map<string, { step: number; at: number }>();

  constructor(options: HeldOptions) {
    this.options = options;
  }

  get size(): number {
    return this.all.size;
  }

  get(queryId: string, accountId: string): Held | undefined {
    const held = this.all.get(queryId);
    return held?.definition.accountId === accountId ? held : undefined;
  }

  /**
   * Holds what was asked for at `sentAt`, unless something newer is held or any of it was let go since `step`. Gives
   * the definition to use: the very object held before, if nothing about it changed.
   */
  put(
    definition: QueryDefinition,
    asked: { sentAt: number; step: number; leaseMs: number },
  ): QueryDefinition {
    const { sentAt, step } = asked;
    if (idsOf(definition).some((id) => (this.lately.get(id)?.step ?? 0) > step)) return definition;
    const old = this.all.get(definition.queryId)?.definition;
    if (old && isOlder(definition, old)) return definition;
    const kept = old && isSame(definition, old) ? old : definition;
    const leaseMs = Math.min(asked.leaseMs, leaseMaxMs);
    this.remove(kept.queryId);
    // What took longer than its lease is used once; it may have changed beyond what is remembered here.
    if (this.options.now() >= sentAt + leaseMs) return kept;
    this.all.set(kept.queryId, {
      definition: kept,
      renewAt: sentAt + leaseMs / 2,
      leaseEndsAt: sentAt + leaseMs,
      awayEndsAt: sentAt + this.options.awayMaxMs,
      renewing: false,
    });
    this.characters += charactersOf(kept);
    this.makeRoom();
    return kept;
  }

  /** Those asked for longest ago make way; the newest always stays. */
  private makeRoom(): void {
    const { heldMax, charactersMax = defaultCharactersMax } = this.options;
    while (this.all.size > heldMax || (this.characters > charactersMax && this.all.size > 1)) {
      this.remove(this.all.keys().next().value as string);
    }
  }

  private remove(queryId: string): void {
    const held = this.all.get(queryId);
    if (held === undefined) return;
    this.all.delete(queryId);
    this.characters -= charactersOf(held.definition);
  }

  drop(held: Held): void {
    const { queryId } = held.definition;
    if (this.all.get(queryId) === held) this.remove(queryId);
  }

  letGo(ids: readonly string[]): void {
    const at = this.options.now();
    this.step++;
    this.forgetBefore(at - this.options.memoryMs);
    for (const id of ids) {
      this.lately.delete(id);
      this.lately.set(id, { step: this.step, at });
    }
    const named = new Set(ids);
    for (const [queryId, { definition }] of this.all) {
      if (idsOf(definition).some((id) => named.has(id))) this.remove(queryId);
    }
  }

  private forgetBefore(before: number): void {
    for (const [id, { at }] of this.lately) {
      if (at >= before) return;
      this.lately.delete(id);
    }
  }
}

function charactersOf({ text, variables }: QueryDefinition): number {
  let characters = text.length;
  for (const { valueJson, enumJson, description } of variables)
    characters += (valueJson?.length ?? 0) + (enumJson?.length ?? 0) + (description?.length ?? 0);
  return characters;
}

/** Those whose change changes the definition. */
function idsOf({ queryId, hubId, source }: QueryDefinition): string[] {
  return [queryId, source.sourceId, hubId];
}

function isOlder(one: QueryDefinition, other: QueryDefinition): boolean {
  if (one.version !== other.version) return one.version < other.version;
  return one.source.sourceId === other.source.sourceId && one.source.version < other.source.version;
}

function isSame(one: QueryDefinition, other: QueryDefinition): boolean {
  return (
    one.version === other.version &&
    one.accountId === other.accountId &&
    one.source.sourceId === other.source.sourceId &&
    one.source.version === other.source.version
  );
}
