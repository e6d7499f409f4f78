/**
 * Decides who gets the slots of sources and servers. A slot is the right of an executor to have one session at a
 * database. The ledger does no I/O and reads no clock of its own.
 *
 * The sum of the slots that executors hold never exceeds a budget, except when executors report more than that, or when
 * the budget was lowered. The excess is recalled then.
 */

import { Budget, type Holder, type Holding, type SlotSource, type Step, shareOf } from './budget.ts';
import type { Listener, SlotChange, SlotUse } from './slot-messages.ts';

export interface LedgerOptions {
  /** An executor that is silent for longer loses its slots. */
  leaseMs: number;
  /** The most sessions of each `host:port` that has a limit. */
  servers: ReadonlyMap<string, number>;
  /**
   * Executors that may hold slots of an earlier owner. Until they report or leave, the ledger grants no more slots than
   * the others reported.
   */
  known: Iterable<string>;
  /** Of those, the ones that the earlier owner knew to have been killed. They are awaited for a short time. */
  lost: Iterable<string>;
  /** False while another replica may own the slots. */
  mayGrant: () => boolean;
  /** True if the process of an executor is known to have ended. */
  hasEnded: (id: string) => boolean;
  now: () => number;
}

interface Executor extends Holder {
  readonly listener: Listener;
  heardAt: number;
  /** When its slots return, if its stream has ended. */
  endsAt: number | undefined;
  /** True if its stream ended without a silence before, as that of a killed one does. */
  isLost: boolean;
}

/** A source or account without a slot gets one from another after this time, even if that has only one. */
const turnMs = 500;
/** Shares of the lease: after which silence a stream ended because of it, and how long an executor may be away. */
const silentShare = 0.1;
const awayShare = 1 / 12;
/** After this silence an executor counts as frozen. It beats about twice in this time. */
const frozenShare = 1 / 24;
const frozenMinMs = 1_000;
/** The time for a database to notice that a process has ended, whose sessions may run statements until then. */
const noticedMs = 1_000;
/** A longer time between two ticks shows that this process was paused. */
const pausedMs = 1_000;

export class SlotLedger {
  readonly #options: LedgerOptions;
  readonly #executors = new Map<string, Executor>();
  readonly #sources = new Map<string, SlotSource>();
  readonly #servers = new Map<string, Budget>();
  /** Until when each is awaited. */
  readonly #awaited = new Map<string, number>();
  /** Those whose process has ended. */
  readonly #ended = new Set<string>();
  readonly #startedAt: number;
  #tickedAt: number;

  constructor(options: LedgerOptions) {
    this.#options = options;
    this.#startedAt = options.now();
    this.#tickedAt = this.#startedAt;
    const { known, lost, leaseMs } = options;
    for (const id of known) this.#awaited.set(id, this.#tickedAt + leaseMs);
    for (const id of lost) this.#awaited.set(id, this.#tickedAt + leaseMs * awayShare);
    this.#shorten();
  }

  /** True if all executors of the former owner have reported or ended, so that every slot can be granted. */
  get isSettled(): boolean {
    return this.#awaited.size === 0;
  }

  /** True if nobody waits for a slot or a report, and no stream has ended, so that ticks change nothing for now. */
  get isQuiet(): boolean {
    const isEnding = [...this.#executors.values()].some(({ endsAt }) => endsAt !== undefined);
    return this.isSettled && !isEnding && this.#waitedFor().next().done === true;
  }

  /** The executors that hold slots or may hold some. */
  get executors(): string[] {
    return [...new Set([...this.#executors.keys(), ...this.#awaited.keys()])];
  }

  /** Of those, the ones that seem to have been killed. */
  get lostExecutors(): string[] {
    const own = [...this.#executors].filter(([, { isLost }]) => isLost).map(([id]) => id);
    return [...own, ...[...this.#options.lost].filter((id) => this.#awaited.has(id))];
  }

  /** Everything that an executor holds; it replaces what was known. */
  report(id: string, uses: readonly SlotUse[], listener: Listener): void {
    const budgets = this.#drop(id);
    const heardAt = this.#options.now();
    const executor = { listener, holdings: new Map(), heardAt, endsAt: undefined, isLost: false };
    this.#executors.set(id, executor);
    for (const use of uses) {
      const holding = this.#holdingOf(executor, use);
      this.#count(holding, { held: use.held });
      this.#want(holding, use.wanted);
      for (const budget of holding.source.budgets) budgets.add(budget);
    }
    if (this.#awaited.size > 0)
      for (const budget of budgets) budget.ceiling = Math.max(budget.ceiling, budget.held);
    this.#arrived(id);
    this.#settle(budgets);
  }

  update(id: string, uses: readonly SlotUse[]): void {
    const executor = this.#executors.get(id);
    if (executor === undefined) return;
    const budgets = new Set<Budget>();
    for (const use of uses) {
      const holding = this.#holdingOf(executor, use);
      const returned = Math.min(use.returned, holding.held);
      this.#count(holding, { held: -returned, recalled: -Math.min(returned, holding.recalled) });
      this.#want(holding, use.wanted);
      for (const budget of holding.source.budgets) budgets.add(budget);
      this.#forget(holding);
    }
    this.#settle(budgets);
  }

  /** A message of the executor arrived. */
  heard(id: string): void {
    const executor = this.#executors.get(id);
    if (executor !== undefined) executor.heardAt = this.#options.now();
  }

  /** The executor stops and holds nothing. */
  left(id: string): void {
    const budgets = this.#drop(id);
    this.#arrived(id);
    this.#settle(budgets);
  }

  /**
   * The stream of the executor ended. A killed executor's sessions end with it, so its slots return soon. If the
   * executor had been silent, it may be paused and wake, so its slots return only after its lease.
   */
  lost(id: string): void {
    const executor = this.#executors.get(id);
    if (executor === undefined) return;
    const { leaseMs, now } = this.#options;
    const isSilent = now() - executor.heardAt > leaseMs * silentShare;
    executor.isLost = !isSilent;
    executor.endsAt = isSilent ? executor.heardAt + leaseMs : now() + leaseMs * awayShare;
  }

  /** Call it several times a second, or less often while the ledger is quiet. */
  tick(): void {
    const { leaseMs, now } = this.#options;
    const at = now();
    const sleptMs = at - this.#tickedAt;
    this.#tickedAt = at;
    // This process was paused, so it has not read what the executors sent meanwhile.
    if (sleptMs > Math.max(leaseMs * silentShare, pausedMs)) this.#delay(sleptMs);
    this.#shorten();
    const budgets = new Set<Budget>();
    for (const [id, executor] of this.#executors) {
      if (at < (executor.endsAt ?? executor.heardAt + leaseMs)) continue;
      for (const budget of this.#drop(id)) budgets.add(budget);
      executor.listener.expired();
    }
    for (const [id, until] of this.#awaited) if (at >= until) this.#arrived(id);
    for (const budget of this.#waitedFor()) budgets.add(budget);
    this.#settle(budgets);
  }

  #delay(ms: number): void {
    for (const [id, until] of this.#awaited) this.#awaited.set(id, until + ms);
    for (const executor of this.#executors.values()) {
      executor.heardAt += ms;
      if (executor.endsAt !== undefined) executor.endsAt += ms;
    }
  }

  /** An executor that is known to have ended will not wake. */
  #shorten(): void {
    const endsAt = this.#tickedAt + noticedMs;
    const isNew = (id: string) => !this.#ended.has(id) && this.#options.hasEnded(id);
    for (const [id, until] of this.#awaited) {
      if (!isNew(id)) continue;
      this.#ended.add(id);
      this.#awaited.set(id, Math.min(until, endsAt));
    }
    for (const [id, executor] of this.#executors) {
      if (executor.endsAt === undefined || !isNew(id)) continue;
      this.#ended.add(id);
      executor.isLost = true;
      executor.endsAt = Math.min(executor.endsAt, endsAt);
    }
  }

  #arrived(id: string): void {
    this.#ended.delete(id);
    if (!this.#awaited.delete(id) || this.#awaited.size > 0) return;
    this.#endAwaiting();
    this.#settle(this.#waitedFor());
  }

  #endAwaiting(): void {
    for (const { budgets } of this.#sources.values())
      for (const budget of budgets) budget.ceiling = Number.POSITIVE_INFINITY;
    for (const budget of this.#servers.values()) budget.ceiling = Number.POSITIVE_INFINITY;
  }

  #createBudget(max: number): Budget {
    const budget = new Budget(max);
    if (this.#awaited.size > 0) budget.ceiling = 0;
    return budget;
  }

  *#waitedFor(): Generator<Budget, undefined> {
    for (const { budgets } of this.#sources.values())
      for (const budget of budgets) if (budget.wanted > 0) yield budget;
  }

  #drop(id: string): Set<Budget> {
    const executor = this.#executors.get(id);
    const budgets = new Set<Budget>();
    this.#executors.delete(id);
    for (const holding of executor?.holdings.values() ?? []) {
      for (const budget of holding.source.budgets) budgets.add(budget);
      this.#remove(holding);
    }
    return budgets;
  }

  #holdingOf(executor: Executor, use: SlotUse): Holding {
    const source = this.#sourceOf(use);
    let holding = executor.holdings.get(use.sourceId);
    if (holding === undefined) {
      const none = { held: 0, recalled: 0, due: 0, wanted: 0, waitsSince: 0, contended: false };
      holding = { executor, source, ...none };
      executor.holdings.set(use.sourceId, holding);
      for (const budget of source.budgets) budget.add(holding);
      // The others were told when the budget became contended.
      this.#tell(holding);
    }
    return holding;
  }

  #sourceOf({ sourceId, accountId, max, servers }: SlotUse): SlotSource {
    let source = this.#sources.get(sourceId);
    if (source === undefined) {
      source = {
        sourceId,
        accountId,
        servers,
        budgets: [this.#createBudget(max), ...this.#budgetsOf(servers)],
      };
      this.#sources.set(sourceId, source);
    }
    const [own] = source.budgets as [Budget, ...Budget[]];
    own.max = max;
    if (source.servers.join() !== servers.join()) {
      for (const budget of source.budgets.slice(1))
        for (const holding of own.holdings) budget.remove(holding);
      source.servers = servers;
      source.budgets = [own, ...this.#budgetsOf(servers)];
      for (const budget of source.budgets.slice(1)) for (const holding of own.holdings) budget.add(holding);
    }
    return source;
  }

  #budgetsOf(servers: readonly string[]): Budget[] {
    return [...new Set(servers)].flatMap((server) => {
      const max = this.#options.servers.get(server);
      if (max === undefined) return [];
      const budget = this.#servers.get(server) ?? this.#createBudget(max);
      this.#servers.set(server, budget);
      return [budget];
    });
  }

  #count(holding: Holding, step: Step): void {
    for (const [name, by] of Object.entries(step) as [keyof Step, number][]) holding[name] += by;
    for (const budget of holding.source.budgets) budget.count(holding, step);
  }

  #want(holding: Holding, wanted: number): void {
    if (holding.wanted === 0) holding.waitsSince = this.#options.now();
    this.#count(holding, {
      wanted: wanted - holding.wanted,
      due: Math.min(wanted, holding.due) - holding.due,
    });
  }

  #forget(holding: Holding): void {
    if (holding.held === 0 && holding.wanted === 0) this.#remove(holding);
  }

  #remove(holding: Holding): void {
    const { source, executor } = holding;
    executor.holdings.delete(source.sourceId);
    for (const budget of source.budgets) budget.remove(holding);
    if (source.budgets[0]?.holdings.size === 0) this.#sources.delete(source.sourceId);
  }

  #settle(budgets: Iterable<Budget>): void {
    if (!this.#options.mayGrant()) return;
    for (const budget of budgets) {
      this.#serve(budget);
      this.#recall(budget);
    }
    for (const budget of budgets) {
      this.#tellContended(budget);
      this.#tellBlocked(budget);
    }
  }

  #serve(budget: Budget): void {
    const hasRoom = ({ source }: Holding) => source.budgets.every(({ isFull }) => !isFull);
    while (budget.wanted > 0 && !budget.isFull) {
      const next = budget.next(hasRoom);
      if (next === undefined) return;
      this.#count(next, { held: 1, wanted: -1, due: -Math.min(1, next.due) });
      next.waitsSince = this.#options.now();
      this.#send(next, { granted: 1 });
      this.#tell(next);
    }
  }

  /** Recalls what exceeds the budget, and slots of those who have more than their share of a full budget. */
  #recall(budget: Budget): void {
    while (budget.held - budget.recalled > budget.max) {
      const victim = budget.largest();
      if (victim === undefined) return;
      this.#recallFrom(victim);
    }
    while (budget.isFull && budget.recalled < budget.held - budget.limit + budget.wanted) {
      const needy = budget.neediest(({ due, wanted }) => due < wanted);
      if (needy === undefined) return;
      const victim = budget.largest(needy);
      if (victim === undefined || !this.#isFair(budget, needy, victim)) return;
      this.#recallFrom(victim);
      this.#count(needy, { due: 1 });
    }
  }

  #recallFrom(holding: Holding): void {
    this.#count(holding, { recalled: 1 });
    this.#send(holding, { recalled: 1 });
  }

  #isFair(budget: Budget, needy: Holding, victim: Holding): boolean {
    const isSame = needy.source.accountId === victim.source.accountId;
    const share = (one: Holding) => (isSame ? shareOf(one) : budget.shareOfAccount(one.source.accountId));
    if (share(victim) - share(needy) >= 2) return true;
    return share(needy) === 0 && this.#options.now() - needy.waitsSince >= turnMs;
  }

  #tellContended(budget: Budget): void {
    const contended = budget.isFull && budget.wanted > 0;
    if (contended === budget.contended) return;
    budget.contended = contended;
    for (const holding of budget.holdings) this.#tell(holding);
  }

  /** Those who wait without a slot are told as long as nobody who has some responds. */
  #tellBlocked(budget: Budget): void {
    const { leaseMs, now } = this.#options;
    const since = now() - Math.max(leaseMs * frozenShare, frozenMinMs);
    if (!this.isSettled && this.#startedAt > since) return;
    const isAwake = ({ executor }: Holding) => (executor as Executor).heardAt > since;
    if (!budget.isStuck(isAwake)) return;
    for (const one of budget.holdings)
      if (one.wanted > 0 && one.held === 0) this.#send(one, { blocked: true });
  }

  #tell(holding: Holding): void {
    const contended = holding.source.budgets.some((budget) => budget.contended);
    if (contended === holding.contended) return;
    holding.contended = contended;
    this.#send(holding, { contended });
  }

  #send({ executor, source }: Holding, change: SlotChange): void {
    (executor as Executor).listener.send(source.sourceId, change);
  }
}
