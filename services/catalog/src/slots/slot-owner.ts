/**
 * Decides which replica of the catalog grants slots. One document names the owner, which renews it; a replica that sees
 * no renewal for a while takes over. The document also lists the executors that may hold slots, so that the next owner
 * waits for their reports, but not long for those that were killed before. No clocks are compared: each replica measures
 * on its own for how long the document's version stays the same.
 */

import type { Collection } from '@datahub/document-store';
import { HubError } from '@datahub/service-kit/call/error';
import type { ProcessState } from '@datahub/service-kit/process/process-id';
import type { SlotOwnerDoc } from '../documents.ts';

export interface SlotOwner {
  /** The version of the document when this replica became the owner; 0 while it is not the owner. */
  readonly epoch: number;
  /** False once another replica may have taken over. */
  readonly mayGrant: boolean;
  /** True if another replica owns the slots, is alive and can grant every slot. */
  readonly isFollowing: boolean;
  /** Resolves once the document lists the executor. Rejects if this replica is not the owner any more. */
  remember(executorId: string): Promise<void>;
  /** Writes down which executors are left. */
  update(): Promise<void>;
  /** Resolves once no owner, now or later, waits for the executor, which holds nothing any more. */
  forget(executorId: string): Promise<void>;
  /** Looks at once whether the owner has ended. */
  look(): Promise<void>;
  /** Lets another replica take over at once. */
  close(): Promise<void>;
}

export interface KnownExecutors {
  /** Those that hold slots or may hold some. */
  executors: readonly string[];
  /** Of those, the ones whose streams have ended. */
  lost: readonly string[];
  /** True if none of them is awaited. */
  settled: boolean;
}

export interface SlotOwnerOptions {
  docs: Collection<SlotOwnerDoc>;
  instanceId: string;
  /** True if no other process can open the store, so the former owner has ended. */
  isAlone: boolean;
  /** What is known of the process of another replica. */
  stateOf: (instanceId: string) => ProcessState;
  leaseMs: number;
  now: () => number;
  known: () => KnownExecutors;
  onOwned(known: KnownExecutors): void;
  onLost(): void;
  /** Another replica was told that this executor stops and holds nothing. */
  onLeft(executorId: string): void;
  onFailure(err: unknown): void;
}

const accountId = 'hub';
const id = 'slots';
/** Shares of the lease: how often the owner renews, how long it may grant after that, and when another takes over. */
const renewShare = 1 / 30;
const ownShare = 1 / 6;
const takeOverShare = 1 / 4;

const triesMax = 10;

/** For the catalog in one process with its executor, which can have no other owner. */
export const soleOwner: SlotOwner = {
  epoch: 1,
  mayGrant: true,
  isFollowing: false,
  remember: async () => {},
  update: async () => {},
  forget: async () => {},
  look: async () => {},
  close: async () => {},
};

export async function openSlotOwner(options: SlotOwnerOptions): Promise<SlotOwner> {
  const owner = new StoredOwner(options);
  await owner.start();
  return owner;
}

class StoredOwner implements SlotOwner {
  epoch = 0;
  readonly #options: SlotOwnerOptions;
  readonly #listed = new Set<string>();
  #ownsUntil = 0;
  #seen = { version: 0, at: 0 };
  #isFollowing = false;
  #writing: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: SlotOwnerOptions) {
    this.#options = options;
  }

  get mayGrant(): boolean {
    return this.epoch > 0 && !this.#closed && this.#options.now() < this.#ownsUntil;
  }

  get isFollowing(): boolean {
    return this.epoch === 0 && this.#isFollowing;
  }

  async start(): Promise<void> {
    await this.#renewLater();
  }

  remember(executorId: string): Promise<void> {
    if (this.#listed.has(executorId)) return Promise.resolve();
    return this.#inTurn(async () => {
      if (!this.#listed.has(executorId)) await this.#renew([executorId]);
      if (!this.#listed.has(executorId)) throw new HubError('UNAVAILABLE', 'Another replica owns the slots.');
    });
  }

  async update(): Promise<void> {
    if (this.epoch > 0 && !this.#closed)
      await this.#inTurn(() => this.#renew([])).catch(this.#options.onFailure);
  }

  async forget(executorId: string): Promise<void> {
    if (this.epoch > 0 && !this.#closed) return this.#inTurn(() => this.#renew([]));
    const isOther = (one: string) => one !== executorId;
    await this.#inTurn(() =>
      this.#change((doc) => {
        if (!doc.executors.includes(executorId)) return undefined;
        return { executors: doc.executors.filter(isOther), lost: doc.lost?.filter(isOther) ?? [] };
      }),
    );
  }

  async look(): Promise<void> {
    if (this.epoch === 0 && !this.#closed)
      await this.#inTurn(() => this.#renew([])).catch(this.#options.onFailure);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#inTurn(async () => {
      if (this.epoch === 0) return;
      await this.#change((doc) => {
        if (doc.owner !== this.#options.instanceId) return undefined;
        this.#noteLeft(doc);
        return { ...copyOf(this.#options.known()), owner: null };
      });
    }).catch(this.#options.onFailure);
  }

  /** Repeats the change if another replica wrote meanwhile. */
  async #change(change: (doc: SlotOwnerDoc) => Partial<SlotOwnerDoc> | undefined): Promise<void> {
    const { docs } = this.#options;
    for (let tries = 0; tries < triesMax; tries++) {
      const doc = await docs.get(accountId, id);
      const changed = doc && change(doc);
      if (!changed || (await docs.replace({ ...doc, ...changed, version: doc.version + 1 }))) return;
    }
    throw new HubError('UNAVAILABLE', 'The slots could not be handed over. Try again.');
  }

  /** Executors that this replica listed and another one took from the list. */
  #noteLeft({ executors }: SlotOwnerDoc): void {
    for (const executor of this.#listed) {
      if (executors.includes(executor)) continue;
      this.#listed.delete(executor);
      this.#options.onLeft(executor);
    }
  }

  async #renewLater(): Promise<void> {
    const { leaseMs, onFailure } = this.#options;
    await this.#inTurn(() => this.#renew([])).catch(onFailure);
    if (this.#closed) return;
    this.#timer = setTimeout(() => void this.#renewLater(), leaseMs * renewShare);
    this.#timer.unref();
  }

  /** Writes one after the other. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#writing.then(work);
    this.#writing = done.catch(() => {});
    return done;
  }

  /** Renews the ownership, or takes it over if the former owner has ended. */
  async #renew(joining: readonly string[]): Promise<void> {
    const { docs, instanceId, now, leaseMs } = this.#options;
    const startedAt = now();
    const doc = await docs.get(accountId, id);
    if (doc !== null && doc.version !== this.#seen.version) {
      const isOwn = doc.owner === instanceId && this.epoch > 0;
      if (isOwn) this.#noteLeft(doc);
      else this.#see(doc, startedAt);
      if (!isOwn && this.epoch > 0) this.#lose();
    }
    const owns = this.epoch > 0;
    if (doc !== null && !owns && !this.#hasEnded(doc, startedAt)) return;
    const before = { executors: doc?.executors ?? [], lost: doc?.lost ?? [], settled: false };
    const known = owns ? withJoining(this.#options.known(), joining) : before;
    const hasChanged = !isSame(known.executors, before.executors) || !isSame(known.lost, before.lost);
    if (owns && this.#options.isAlone && !hasChanged) return;
    const next = { ...copyOf(known), id, accountId, version: (doc?.version ?? 0) + 1, owner: instanceId };
    if (doc === null) await docs.insert(next);
    else if (!(await docs.replace(next))) return;
    this.#seen = { version: next.version, at: startedAt };
    this.#ownsUntil = this.#options.isAlone ? Number.POSITIVE_INFINITY : startedAt + leaseMs * ownShare;
    this.#listed.clear();
    for (const executor of next.executors) this.#listed.add(executor);
    if (owns) return;
    this.epoch = next.version;
    this.#options.onOwned(before);
  }

  /** The first look at a document does not tell whether its owner is alive. */
  #see({ version, owner, settled = true }: SlotOwnerDoc, at: number): void {
    const isAlive = this.#seen.version > 0 || (owner !== null && this.#options.stateOf(owner) === 'running');
    this.#isFollowing = owner !== null && isAlive && settled;
    this.#seen = { version, at };
  }

  #hasEnded({ owner }: SlotOwnerDoc, at: number): boolean {
    const { isAlone, leaseMs, instanceId, stateOf } = this.#options;
    if (owner === null || owner === instanceId || isAlone || stateOf(owner) === 'ended') return true;
    return at - this.#seen.at > leaseMs * takeOverShare;
  }

  #lose(): void {
    this.epoch = 0;
    this.#ownsUntil = 0;
    this.#listed.clear();
    this.#options.onLost();
  }
}

const withJoining = (
  { executors, lost, settled }: KnownExecutors,
  joining: readonly string[],
): KnownExecutors => ({
  executors: [...new Set([...executors, ...joining])],
  lost: lost.filter((id) => !joining.includes(id)),
  settled,
});

const copyOf = ({ executors, lost, settled }: KnownExecutors) => ({
  executors: [...executors],
  lost: [...lost],
  settled,
});

function isSame(some: readonly string[], others: readonly string[]): boolean {
  const set = new Set(others);
  return set.size === some.length && some.every((one) => set.has(one));
}
