/**
 * The connections of one source, and the queue of executions that wait for one. The pool opens its first connection
 * alone, so that a source that is down costs one attempt. After that it opens as many as executions wait.
 */

import { HubError, toHubError } from '@datahub/service-kit/call/error';
import type { Connection } from '../ports/engine.ts';
import type { SlotPool } from '../slots/source-slots.ts';
import type {
  AccountUsage,
  AcquireOptions,
  GrowingPool,
  Lease,
  Member,
  PoolDeps,
  PoolSettings,
  PoolStats,
} from './pool-types.ts';
import { isAlive, openWithin } from './timeouts.ts';
import { Transfers } from './transfers.ts';
import { abortError, stopping, WaitEstimator, WaitQueue } from './wait-queue.ts';

const pingTimeoutMs = 1_000;
/** The pause after a connection failed to open. If other connections work, the source is probably full. */
const growPauseMs = 1_000;

const leaseEnded = () =>
  new HubError('UNAVAILABLE', 'The executor was paused, so it closed its connections. Try again.', {
    retryable: true,
  });
const isCut = (err: unknown) => err instanceof HubError && err.code === 'UNAVAILABLE';

interface MemberLease extends Lease {
  readonly member: Member;
}

export class Pool implements GrowingPool, SlotPool {
  readonly usage: AccountUsage;
  /** The time when a connection was last requested. */
  usedAt: number;
  readonly transfers: Transfers;
  readonly #settings: PoolSettings;
  readonly #deps: PoolDeps;
  readonly #members = new Set<Member>();
  /** A stack. The connections at its start stay idle, so that surplus ones expire. */
  readonly #idle: Member[] = [];
  readonly #queue = new WaitQueue();
  readonly #opening = new Set<AbortController>();
  #validating = 0;
  /** The time before which no further connection is opened. */
  #growAt = 0;
  readonly #estimator: WaitEstimator;
  #state: 'open' | 'draining' | 'closed' = 'open';
  readonly #drained = Promise.withResolvers<void>();

  constructor(settings: PoolSettings, deps: PoolDeps) {
    this.#settings = settings;
    this.transfers = new Transfers(settings.sizeMax);
    this.#deps = deps;
    this.usage = deps.usage;
    this.#estimator = new WaitEstimator(this.#members, settings.sizeMax, deps.random);
    this.usedAt = deps.now();
    deps.slots.enter(this);
  }

  get sizeMax(): number {
    return this.#settings.sizeMax;
  }

  /** Returns an idle connection without waiting; undefined if there is none. None is idle while an execution waits. */
  tryAcquire(): Lease | undefined {
    const now = this.#deps.now();
    this.usedAt = now;
    if (!this.#deps.slots.isAwake(now)) return undefined;
    for (let member = this.#idle.at(-1); member !== undefined; member = this.#idle.at(-1)) {
      if (!member.connection.broken && now < member.expiresAt) {
        if (now - member.idleAt > this.#settings.validateAfterMs) return undefined;
        this.#idle.pop();
        this.#deps.budget.markBusy(this.usage);
        return this.#lease(member, now);
      }
      this.#remove(member);
    }
    return undefined;
  }

  /** Waits for at most `waitMs`. Rejects with SOURCE_BUSY, CANCELLED, or the error of opening a connection. */
  acquire(options: AcquireOptions): Promise<Lease> {
    const { usedAt } = this;
    const warm = this.tryAcquire();
    if (options.background) this.usedAt = usedAt;
    if (warm) return Promise.resolve(warm);
    const timeoutError = () => this.#busyError('No connection to the source became free in time.');
    if (options.signal.aborted) return Promise.reject(abortError(options.signal, timeoutError));
    if (this.#state === 'closed') return Promise.reject(stopping());
    const waitMs = Math.min(this.#settings.waitMs, options.deadlineAt - this.#deps.now());
    if (this.#isQueueFull(waitMs) || !this.#deps.budget.reserveWaiting(this.usage, options.bytes)) {
      return Promise.reject(this.#busyError('Too many executions are waiting for this source.'));
    }
    const lease = this.#queue.wait(options, {
      ...{ waitMs, timeoutError },
      onSettled: () => this.#deps.budget.stopWaiting(this.usage, options.bytes),
    });
    this.grow();
    return lease;
  }

  /** True if one more execution would probably get no connection within `waitMs`. */
  #isQueueFull(waitMs: number): boolean {
    // One execution per connection may always wait, so that a slow source has the next one when one ends.
    if (this.#queue.size < this.#settings.sizeMax) return false;
    const now = this.#deps.now();
    const isHeldBack = now < this.#growAt || this.#isWaitingForRoom;
    const mayGrow = this.#members.size === 0 || !isHeldBack;
    const further = mayGrow ? this.#settings.sizeMax - this.#members.size : this.#opening.size;
    return this.#queue.size >= this.#estimator.servedWithin(waitMs, further, now);
  }

  get #isWaitingForRoom(): boolean {
    const { budget, slots } = this.#deps;
    return budget.isWaitingForRoom(this) || slots.isWaitedForBy(this);
  }

  /** Returns a connection to the pool, which closes it if it is broken or expired. A second call has no effect. */
  release(lease: Lease): void {
    const { member } = lease as MemberLease;
    if (member.lease !== lease || !member.busy) return;
    member.lease = undefined;
    const now = this.#deps.now();
    this.#estimator.released(now - member.leasedAt);
    if (member.connection.broken || now >= member.expiresAt || this.#state === 'closed') {
      this.#remove(member);
      this.grow();
    } else {
      this.#offer(member, now);
    }
  }

  /** Closes the idle connections. Called if one was dead, because the others probably are, too. */
  closeIdle(): void {
    while (this.#idle.length > 0) this.#remove(this.#idle[0] as Member);
  }

  /** Closes the connection that was idle longest. Returns false if none is idle. */
  closeIdlest(): boolean {
    const [member] = this.#idle;
    if (member === undefined) return false;
    this.#remove(member);
    return true;
  }

  /** The time since which the longest idle connection is idle; Infinity if none is idle. */
  get idleSince(): number {
    return this.#idle[0]?.idleAt ?? Number.POSITIVE_INFINITY;
  }

  /** Closes connections that are broken or expired. Call it about every second. */
  sweep(): void {
    const now = this.#deps.now();
    const { idleTimeoutMs } = this.#settings;
    for (const member of [...this.#idle]) {
      if (member.connection.broken || now >= member.expiresAt || now - member.idleAt >= idleTimeoutMs) {
        this.#remove(member);
      }
    }
    if (this.#queue.size > 0) this.grow();
  }

  /** Serves the waiting executions, then closes the connections. Resolves when the last one is closed. */
  drain(): Promise<void> {
    if (this.#state === 'open') this.#state = 'draining';
    this.closeIdle();
    this.#settleDrained();
    return this.#drained.promise;
  }

  /** Rejects waiting executions, waits `graceMs` for running ones, then closes their connections. Idempotent. */
  async close(graceMs: number): Promise<void> {
    this.#state = 'closed';
    this.#queue.rejectAll(stopping());
    for (const controller of this.#opening) controller.abort(stopping());
    this.closeIdle();
    this.#settleDrained();
    const timer = setTimeout(() => {
      for (const member of this.#members) this.#remove(member);
    }, graceMs);
    await this.#drained.promise;
    clearTimeout(timer);
  }

  /** Closes all connections at once, also those that are being opened. */
  cut(): void {
    for (const controller of this.#opening) controller.abort(leaseEnded());
    for (const member of this.#members) this.#remove(member);
  }

  refuse(): void {
    this.#queue.rejectAll(
      this.#busyError('The connections of this source are held by an executor that does not respond.'),
    );
  }

  get waiting(): number {
    return this.#queue.size;
  }

  get stats(): PoolStats {
    const connecting = this.#opening.size + this.#validating;
    const busy = this.#members.size - this.#idle.length - this.#validating;
    const tripped = this.#deps.breaker.state === 'closed' ? 0 : 1;
    return { waiting: this.#queue.size, busy, idle: this.#idle.length, connecting, tripped };
  }

  get isEmpty(): boolean {
    return this.#members.size === 0 && this.#opening.size === 0 && this.#queue.size === 0;
  }

  /** Opens as many connections as the waiting executions need and the limits allow. */
  grow(): void {
    while (this.#queue.size > this.#opening.size + this.#validating) {
      const stale = this.#idle.at(-1);
      if (stale !== undefined) {
        void this.#validate(stale);
        continue;
      }
      const isUp = this.#members.size > 0;
      if (this.#members.size + this.#opening.size >= this.#settings.sizeMax) return;
      if (isUp ? this.#deps.now() < this.#growAt : this.#opening.size > 0) return;
      const refusal = this.#deps.breaker.admit();
      if (refusal) {
        if (!isUp && this.#opening.size === 0) this.#queue.rejectAll(refusal);
        return;
      }
      if (!this.#deps.budget.reserve(this.usage)) {
        this.#deps.breaker.abandoned();
        this.#deps.budget.waitForRoom(this);
        return;
      }
      if (!this.#deps.slots.take(this)) {
        this.#deps.breaker.abandoned();
        this.#deps.budget.cancel(this.usage);
        return;
      }
      void this.#openOne();
    }
  }

  async #openOne(): Promise<void> {
    const controller = new AbortController();
    this.#opening.add(controller);
    try {
      const connection = await openWithin(this.#deps.open, controller, this.#settings.connectTimeoutMs);
      this.#opening.delete(controller);
      this.#deps.breaker.succeeded();
      this.#add(connection);
    } catch (err) {
      this.#opening.delete(controller);
      this.#deps.budget.markClosed(this.usage);
      this.#deps.budget.markIdle(this.usage);
      this.#deps.slots.give();
      if (this.#state === 'closed' || isCut(err)) this.#deps.breaker.abandoned();
      else this.#deps.breaker.failed(err);
      this.#growAt = this.#deps.now() + growPauseMs;
      if (this.#members.size === 0 && this.#opening.size === 0) this.#queue.rejectAll(toHubError(err));
      this.#settleDrained();
    }
  }

  #add(connection: Connection): void {
    const now = this.#deps.now();
    const expiresAt = now + this.#settings.lifetimeMs * (1 - this.#deps.random() / 10);
    const unused = { uses: 0, lease: undefined, busy: true, removed: false, leasedAt: now, idleAt: now };
    const member: Member = { ...unused, connection, expiresAt };
    this.#members.add(member);
    connection.onClose(() => {
      if (!member.busy) this.#remove(member);
    });
    if (connection.broken || this.#state === 'closed') this.#remove(member);
    else this.#offer(member, now);
    // The source is up, so the other waiting executions may have connections too.
    this.grow();
  }

  /** Pings a connection that was idle for long, then gives it to the next execution. */
  async #validate(member: Member): Promise<void> {
    this.#idle.pop();
    this.#deps.budget.markBusy(this.usage);
    member.busy = true;
    member.leasedAt = this.#deps.now();
    this.#validating++;
    const alive = await isAlive(member.connection, pingTimeoutMs);
    this.#validating--;
    if (alive && !member.connection.broken && this.#state !== 'closed')
      return this.#offer(member, this.#deps.now());
    this.#remove(member);
    this.grow();
  }

  /** Gives a busy connection to the next execution, or makes it idle. */
  #offer(member: Member, now: number): void {
    const { slots, budget } = this.#deps;
    if (!slots.isAwake(now)) return;
    if (slots.isRecalled || budget.mustYield(this.usage)) {
      this.#remove(member);
      this.grow();
      return;
    }
    const waiter = this.#queue.shift();
    if (waiter) {
      waiter.resolve(this.#lease(member, now));
    } else if (this.#state === 'open') {
      member.busy = false;
      member.idleAt = now;
      this.#idle.push(member);
      this.#deps.budget.markIdle(this.usage);
    } else {
      this.#remove(member);
    }
  }

  #lease(member: Member, now: number): Lease {
    member.busy = true;
    member.leasedAt = now;
    member.uses++;
    const lease: MemberLease = { connection: member.connection, uses: member.uses, member };
    member.lease = lease;
    return lease;
  }

  #remove(member: Member): void {
    if (member.removed) return;
    member.removed = true;
    this.#members.delete(member);
    const index = this.#idle.indexOf(member);
    if (index !== -1) this.#idle.splice(index, 1);
    member.connection.close();
    this.#deps.budget.markClosed(this.usage);
    if (member.busy) this.#deps.budget.markIdle(this.usage);
    member.busy = false;
    this.#deps.slots.give();
    this.#settleDrained();
  }

  #busyError(message: string): HubError {
    return new HubError('SOURCE_BUSY', message, {
      stage: 'queue',
      retryable: true,
      retryAfterMs: this.#estimator.retryAfterMs(this.#queue.size + 1, this.#deps.now()),
    });
  }

  #settleDrained(): void {
    if (this.#state === 'open' || !this.isEmpty) return;
    this.#deps.slots.leave(this);
    this.#drained.resolve();
  }
}
