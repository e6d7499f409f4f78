/**
 * Decides which replica of the catalog grants slots. One document names the owner, which renews it; a replica that sees
 * no renewal for a while takes over. The document also lists the executors that may hold slots, so that the next owner
 * waits for their reports, but not long for those that were killed before. No clocks are compared: each replica measures
 * on its own for how long the document's version stays the same.
 */

import type { Collection } from '@datahub/document-store';
import { HubError } from '@datahub/service-kit/call/error';
import type { SlotOwnerDoc } from '../documents.ts';

export interface SlotOwner {
  /** The version of the document when this replica became the owner; 0 while it is not the owner. */
  readonly epoch: number;
  /** False once another replica may have taken over. */
  readonly mayGrant: boolean;
  /** Resolves once the document lists the executor. Rejects if this replica is not the owner any more. */
  remember(executorId: string): Promise<void>;
  /** Writes down which executors are left. */
  update(): Promise<void>;
  /** Lets another replica take over at once. */
  close(): Promise<void>;
}

export interface KnownExecutors {
  /** Those that hold slots or may hold some. */
  executors: readonly string[];
  /** Of those, the ones whose streams have ended. */
  lost: readonly string[];
}

export interface SlotOwnerOptions {
  docs: Collection<SlotOwnerDoc>;
  instanceId: string;
  /** True if no other process can open the store, so the former owner has ended. */
  isAlone: boolean;
  leaseMs: number;
  now: () => number;
  known: () => KnownExecutors;
  onOwned(known: KnownExecutors): void;
  onLost(): void;
  onFailure(err: unknown): void;
}

const accountId = 'hub';
const id = 'slots';
/** Shares of the lease: how often the owner renews, how long it may grant after that, and when another takes over. */
const renewShare = 1 / 30;
const ownShare = 1 / 6;
const takeOverShare = 1 / 4;

/** For the catalog in one process with its executor, which can have no other owner. */
export const soleOwner: SlotOwner = {
  epoch: 1,
  mayGrant: true,
  remember: async () => {},
  update: async () => {},
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
  #writing: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: SlotOwnerOptions) {
    this.#options = options;
  }

  get mayGrant(): boolean {
    return this.epoch > 0 && !this.#closed && this.#options.now() < this.#ownsUntil;
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

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#inTurn(async () => {
      if (this.epoch === 0) return;
      const { docs, known } = this.#options;
      const doc = await docs.get(accountId, id);
      if (doc?.owner !== this.#options.instanceId) return;
      const { executors, lost } = known();
      await docs.replace({
        ...doc,
        version: doc.version + 1,
        owner: null,
        executors: [...executors],
        lost: [...lost],
      });
    }).catch(this.#options.onFailure);
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
      if (!isOwn) this.#seen = { version: doc.version, at: startedAt };
      if (!isOwn && this.epoch > 0) this.#lose();
    }
    const owns = this.epoch > 0;
    if (doc !== null && !owns && !this.#hasEnded(doc, startedAt)) return;
    const before = { executors: doc?.executors ?? [], lost: doc?.lost ?? [] };
    const { executors, lost } = owns ? withJoining(this.#options.known(), joining) : before;
    const hasChanged = !isSame(executors, before.executors) || !isSame(lost, before.lost);
    if (owns && this.#options.isAlone && !hasChanged) return;
    const version = (doc?.version ?? 0) + 1;
    const next = { id, accountId, version, owner: instanceId, executors: [...executors], lost: [...lost] };
    if (doc === null) await docs.insert(next);
    else if (!(await docs.replace(next))) return;
    this.#seen = { version: next.version, at: startedAt };
    this.#ownsUntil = this.#options.isAlone ? Number.POSITIVE_INFINITY : startedAt + leaseMs * ownShare;
    this.#listed.clear();
    for (const executor of executors) this.#listed.add(executor);
    if (owns) return;
    this.epoch = next.version;
    this.#options.onOwned(before);
  }

  #hasEnded({ owner }: SlotOwnerDoc, at: number): boolean {
    const { isAlone, leaseMs, instanceId } = this.#options;
    if (owner === null || owner === instanceId || isAlone) return true;
    return at - this.#seen.at > leaseMs * takeOverShare;
  }

  #lose(): void {
    this.epoch = 0;
    this.#ownsUntil = 0;
    this.#listed.clear();
    this.#options.onLost();
  }
}

const withJoining = ({ executors, lost }: KnownExecutors, joining: readonly string[]): KnownExecutors => ({
  executors: [...new Set([...executors, ...joining])],
  lost: lost.filter((id) => !joining.includes(id)),
});

function isSame(some: readonly string[], others: readonly string[]): boolean {
  const set = new Set(others);
  return set.size === some.length && some.every((one) => set.has(one));
}
