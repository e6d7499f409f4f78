/**
 * The connections of one source, with the line of executions that wait for one. The first connection is opened alone,
 * so that a source that is down costs one attempt however many ask; further ones follow the length of the line.
 */

import { HubError, toHubError } from '@datahub/service-kit/call/error';
import type { Connection } from '../engine.ts';
import type { Hungry, Share } from './connection-budget.ts';
import type { AcquireOptions, Lease, Member, PoolDeps, PoolSettings, PoolStats } from './pool-types.ts';
import { Pace } from './retry-estimator.ts';
import { answersWithin, openWithin } from './timeouts.ts';
import { callerGone, PoolQueue, stopping } from './wait-queue.ts';

const pingTimeoutMs = 1_000;
/** After a further connection was refused while others work: the source is probably full. */
const growPauseMs = 1_000;

export class Pool implements Hungry {
  readonly share: Share;
  /** When it was last asked for a connection. */
  usedAt: number;
  private readonly settings: PoolSettings;
  private readonly deps: PoolDeps;
  private readonly members = new Set<Member>();
  /** The one used last is at the end and is taken first, so that a surplus can age and close. */
  private readonly idle: Member[] = [];
  private readonly queue = new PoolQueue();
  private readonly opening = new Set<AbortController>();
  private reviving = 0;
  private growAt = 0;
  private readonly pace: Pace;
  private ending: 'no' | 'retired' | 'closed' = 'no';
  private readonly ended = Promise.withResolvers<void>();

  constructor(settings: PoolSettings, deps: PoolDeps) {
    this.settings = settings;
    this.deps = deps;
    this.share = deps.share;
    this.pace = new Pace(this.members, settings.sizeMax, deps.random);
    this.usedAt = deps.now();
  }

  /** The fast way: a warm idle connection, or undefined; then ask `acquire`. Never overtakes anybody in the line. */
  tryAcquire(): Lease | undefined {
    const now = this.deps.now();
    this.usedAt = now;
    for (let member = this.idle.at(-1); member !== undefined; member = this.idle.at(-1)) {
      if (!member.connection.broken && now < member.expiresAt) {
        if (now - member.idleAt > this.settings.validateAfterMs) return undefined;
        this.idle.pop();
        this.deps.budget.use(this.share);
        return this.hand(member, now);
      }
      this.forget(member);
    }
    return undefined;
  }

  /** Waits in line for at most `waitMs`. Rejects with SOURCE_BUSY, CANCELLED, or what kept the source from opening. */
  acquire(options: AcquireOptions): Promise<Lease> {
    const warm = this.tryAcquire();
    if (warm) return Promise.resolve(warm);
    if (options.signal.aborted) return Promise.reject(callerGone());
    if (this.ending === 'closed') return Promise.reject(stopping());
    if (this.share.waiting >= this.deps.budget.limits.waitingPerAccountMax || this.isFull()) {
      return Promise.reject(this.busy('Too many executions wait for this source already.'));
    }
    const waitMs = Math.min(this.settings.waitMs, options.deadlineAt - this.deps.now());
    this.share.waiting++;
    const turn = this.queue.join(options, {
      waitMs,
      late: () => this.busy('No connection to the source came free in time.'),
      left: () => this.share.waiting--,
    });
    this.pump();
    return turn;
  }

  private isFull(): boolean {
    const { size } = this.queue;
    return size >= this.settings.queueMax && !this.pace.isBurst(size + 1, this.deps.now());
  }

  /** Gives a connection back; a broken one is closed. */
  release(lease: Lease): void {
    const member = lease as Member;
    if (!member.busy) return;
    const now = this.deps.now();
    this.pace.released(now - member.heldAt);
    if (member.connection.broken || now >= member.expiresAt || this.ending === 'closed') {
      this.forget(member);
      this.pump();
    } else {
      this.offer(member, now);
    }
  }

  /** Closes what is idle: one connection was found dead, and those beside it are likely to be. */
  dropIdle(): void {
    while (this.idle.length > 0) this.forget(this.idle[0] as Member);
  }

  /** Closes the connection idle longest; false when none is. */
  dropIdlest(): boolean {
    const [member] = this.idle;
    if (member === undefined) return false;
    this.forget(member);
    return true;
  }

  /** Since when its oldest idle connection rests; Infinity without one. */
  get idleSince(): number {
    return this.idle[0]?.idleAt ?? Number.POSITIVE_INFINITY;
  }

  /** Closes what has been idle or alive for too long. To be called every second or so. */
  sweep(): void {
    const now = this.deps.now();
    const { idleTimeoutMs } = this.settings;
    for (const member of [...this.idle]) {
      if (member.connection.broken || now >= member.expiresAt || now - member.idleAt >= idleTimeoutMs) {
        this.forget(member);
      }
    }
    if (this.queue.size > 0) this.pump();
  }

  /** Serves its line to the end and opens nothing for anybody new; resolves when its last connection is closed. */
  retire(): Promise<void> {
    if (this.ending === 'no') this.ending = 'retired';
    this.dropIdle();
    this.settleEnd();
    return this.ended.promise;
  }

  /** Sends the line away, waits `graceMs` for what runs, then cuts it. Idempotent. */
  async close(graceMs: number): Promise<void> {
    this.ending = 'closed';
    this.queue.rejectAll(stopping());
    for (const controller of this.opening) controller.abort(stopping());
    this.dropIdle();
    this.settleEnd();
    const cut = setTimeout(() => {
      for (const member of this.members) this.forget(member);
      this.settleEnd();
    }, graceMs);
    await this.ended.promise;
    clearTimeout(cut);
  }

  get stats(): PoolStats {
    const connecting = this.opening.size + this.reviving;
    const busy = this.members.size - this.idle.length - this.reviving;
    return { waiting: this.queue.size, busy, idle: this.idle.length, connecting };
  }

  get empty(): boolean {
    return this.members.size === 0 && this.opening.size === 0 && this.queue.size === 0;
  }

  /** Opens as many connections as the line still needs and the bounds allow. */
  pump(): void {
    while (this.queue.size > this.opening.size + this.reviving) {
      const stale = this.idle.at(-1);
      if (stale !== undefined) {
        void this.revive(stale);
        continue;
      }
      const known = this.members.size > 0;
      if (this.members.size + this.opening.size >= this.settings.sizeMax) return;
      if (known ? this.deps.now() < this.growAt : this.opening.size > 0) return;
      const refusal = this.deps.breaker.admit();
      if (refusal) {
        if (!known && this.opening.size === 0) this.queue.rejectAll(refusal);
        return;
      }
      if (!this.deps.budget.take(this.share)) {
        this.deps.breaker.abandoned();
        this.deps.budget.wait(this);
        return;
      }
      void this.openOne();
    }
  }

  private async openOne(): Promise<void> {
    const controller = new AbortController();
    this.opening.add(controller);
    try {
      const connection = await openWithin(this.deps.open, controller, this.settings.connectTimeoutMs);
      this.opening.delete(controller);
      this.deps.breaker.succeeded();
      this.join(connection);
    } catch (err) {
      this.opening.delete(controller);
      this.deps.budget.drop(this.share);
      this.deps.budget.rest(this.share);
      if (this.ending === 'closed') this.deps.breaker.abandoned();
      else this.deps.breaker.failed(err);
      this.growAt = this.deps.now() + growPauseMs;
      if (this.members.size === 0 && this.opening.size === 0) this.queue.rejectAll(toHubError(err));
      this.settleEnd();
    }
  }

  private join(connection: Connection): void {
    const now = this.deps.now();
    const expiresAt = now + this.settings.lifetimeMs * (1 - this.deps.random() / 10);
    const member: Member = {
      connection,
      uses: 0,
      busy: true,
      gone: false,
      heldAt: now,
      idleAt: now,
      expiresAt,
    };
    this.members.add(member);
    connection.onClose(() => {
      if (!member.busy) this.forget(member);
    });
    if (connection.broken || this.ending === 'closed') this.forget(member);
    else this.offer(member, now);
    // The source answers, so the rest of the line may bring its own connections.
    this.pump();
  }

  /** Has a connection that rested for long prove itself, for the next in line. */
  private async revive(member: Member): Promise<void> {
    this.idle.pop();
    this.deps.budget.use(this.share);
    member.busy = true;
    this.reviving++;
    const alive = await answersWithin(member.connection, pingTimeoutMs);
    this.reviving--;
    if (alive && !member.connection.broken && this.ending !== 'closed')
      return this.offer(member, this.deps.now());
    this.forget(member);
    this.pump();
  }

  /** Hands a busy connection to the next in line, or lets it rest. */
  private offer(member: Member, now: number): void {
    if (this.deps.budget.mustYield(this.share)) {
      this.forget(member);
      this.pump();
      return;
    }
    const waiter = this.queue.shift();
    if (waiter) {
      waiter.resolve(this.hand(member, now));
    } else if (this.ending === 'no') {
      member.busy = false;
      member.idleAt = now;
      this.idle.push(member);
      this.deps.budget.rest(this.share);
    } else {
      this.forget(member);
    }
  }

  private hand(member: Member, now: number): Lease {
    member.busy = true;
    member.heldAt = now;
    member.uses++;
    return member;
  }

  private forget(member: Member): void {
    if (member.gone) return;
    member.gone = true;
    this.members.delete(member);
    const index = this.idle.indexOf(member);
    if (index !== -1) this.idle.splice(index, 1);
    member.connection.close();
    this.deps.budget.drop(this.share);
    if (member.busy) this.deps.budget.rest(this.share);
    member.busy = false;
    this.settleEnd();
  }

  private busy(message: string): HubError {
    return new HubError('SOURCE_BUSY', message, {
      stage: 'queue',
      retryable: true,
      retryAfterMs: this.pace.retryAfterMs(this.queue.size + 1, this.deps.now()),
    });
  }

  private settleEnd(): void {
    if (this.ending !== 'no' && this.empty) this.ended.resolve();
  }
}
