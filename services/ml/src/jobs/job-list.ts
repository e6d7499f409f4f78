/**
 * The jobs in the store. A gateway leases a job to run it. If it does not extend the lease in time, another gateway can
 * take the job. Every change is a compare-and-set on the job's version, so a gateway that lost its lease cannot change
 * the job.
 */

import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { CompanionWrite } from '@datahub/document-store';
import { HubError } from '@datahub/service-kit/call/error';
import type { EndedJobDoc, JobDoc } from '../documents.ts';
import type { MlStore } from '../store.ts';

export interface Held {
  accountId: string;
  jobId: string;
  lease: string;
}

/** The most open jobs of one account. */
const openMax = 10;
const checksMax = 40;
const checkPauseMs = 25;
const keptMax = 200;
const keptMs = 7 * 24 * 3_600_000;
const attemptsMax = 50;
const pageMax = 500;
const pagesMax = 20;
const sweptMax = 1_000;
/** Ended jobs of one call. */
const toldMax = 100;
/** If an open job still has no document after this time, adding it failed, and it is deleted. */
const orphanMs = 60_000;

/** The jobs of an account, or those that one of its keys started. */
export interface JobView {
  accountId: string;
  keyId?: string;
}

export interface JobListOptions {
  leaseMs: number;
  nowMs: () => number;
}

type JobStore = Pick<MlStore, 'jobs' | 'openJobs' | 'endedJobs'>;

export class JobList {
  readonly #jobs: MlStore['jobs'];
  readonly #openJobs: MlStore['openJobs'];
  readonly #endedJobs: MlStore['endedJobs'];
  readonly #options: JobListOptions;

  constructor({ jobs, openJobs, endedJobs }: JobStore, options: JobListOptions) {
    this.#jobs = jobs;
    this.#openJobs = openJobs;
    this.#endedJobs = endedJobs;
    this.#options = options;
  }

  /** Rejects with QUOTA_EXCEEDED. */
  async add(job: JobDoc): Promise<void> {
    const { id, accountId, createdAt } = job;
    const open = await this.#openJobs.findSummaries({ accountId, limit: pageMax });
    if (open.length >= openMax) throw tooMany();
    const openIds = new Set(open.map(({ id }) => id));
    // Ids alone: a job can have a context of 64 KiB.
    const kept = await this.#jobs.findSummaries({ accountId, limit: keptMax + openMax });
    const ended = kept.filter((job) => !openIds.has(job.id));
    for (const old of ended.slice(0, Math.max(0, kept.length - keptMax + 1)))
      await this.#jobs.delete(accountId, old.id);
    await this.#openJobs.insert({ id, accountId, version: 1, createdAt }).catch((err) => {
      // An earlier attempt of the same operation failed after this step.
      if (!(err instanceof HubError) || err.code !== 'CONFLICT') throw err;
    });
    // Others may have been added since the count.
    if (!(await this.#isAllowed(job))) {
      await this.#openJobs.delete(accountId, id);
      throw tooMany();
    }
    await this.#jobs.insert(job);
  }

  /** Of jobs that are added at the same time, the first ones wait until the others are gone. */
  async #isAllowed({ accountId, id }: JobDoc): Promise<boolean> {
    for (let check = 0; check < checksMax; check++) {
      const open = await this.#openJobs.find({ accountId, limit: pageMax });
      if (open.length <= openMax) return true;
      const first = open.sort((one, other) => one.createdAt - other.createdAt).slice(0, openMax);
      if (!first.some((job) => job.id === id)) return false;
      await wait(checkPauseMs);
    }
    return false;
  }

  /** Rejects with NOT_FOUND. */
  async get({ accountId, keyId }: JobView, jobId: string): Promise<JobDoc> {
    const job = await this.#jobs.get(accountId, jobId);
    if (job === null || (keyId !== undefined && job.keyId !== keyId))
      throw new HubError('NOT_FOUND', 'There is no such job.');
    return job;
  }

  /** Newest first, because the ids of jobs sort by time. */
  async list(
    { accountId, keyId }: JobView,
    { offset, limit }: { offset: number; limit: number },
  ): Promise<{ found: JobDoc[]; total: number }> {
    const filter = { accountId, ...(keyId === undefined ? {} : { where: { keyId } }) };
    const [found, total] = await Promise.all([
      limit === 0 ? [] : this.#jobs.find({ ...filter, offset, limit, descending: true }),
      this.#jobs.count(filter),
    ]);
    return { found, total };
  }

  /** Leases the job that has waited longest, among the accounts without a running job. Undefined if there is none. */
  async take(): Promise<JobDoc | undefined> {
    const { nowMs, leaseMs } = this.#options;
    const busy = new Set<string>();
    // Without the rest of the jobs, whose contexts can have 64 KiB each.
    const free: { accountId: string; id: string; version: number; since: number }[] = [];
    for await (const job of this.#listOpen()) {
      const leftMs = (job.lease?.until ?? 0) - nowMs();
      // A lease that has much more left than any lease gets is from before the clock was set back.
      if (leftMs > 0 && leftMs <= 2 * leaseMs) busy.add(job.accountId);
      else
        free.push({ accountId: job.accountId, id: job.id, version: job.version, since: waitingSince(job) });
    }
    const [first] = free
      .filter(({ accountId }) => !busy.has(accountId))
      .sort((one, other) => one.since - other.since);
    if (first === undefined) return undefined;
    const next = await this.#jobs.get(first.accountId, first.id);
    // Another process has taken or deleted the job.
    if (next?.version !== first.version) return undefined;
    const lease = { token: randomUUID(), until: nowMs() + leaseMs };
    const startedAt = next.startedAt ?? nowMs();
    const taken = { ...next, version: next.version + 1, state: 'running' as const, lease, startedAt };
    // If the replace fails, another process has taken the job.
    return (await this.#jobs.replace(taken)) ? taken : undefined;
  }

  /** Puts the job behind the others that wait. Rejects with CONFLICT if another lease applies. */
  async release(held: Held): Promise<void> {
    const { turns = 0 } = await this.leased(held);
    await this.change(held, {
      state: 'queued',
      lease: null,
      turns: turns + 1,
      releasedAt: this.#options.nowMs(),
    });
  }

  /** Resolves to the job. Rejects with CONFLICT if it does not run under this lease. */
  async leased({ accountId, jobId, lease }: Held): Promise<JobDoc> {
    const job = await this.#jobs.get(accountId, jobId);
    if (job?.state === 'running' && job.lease?.token === lease) return job;
    throw new HubError('CONFLICT', 'The job was deleted, has ended, or another process runs it.');
  }

  /**
   * Changes the job, and extends its lease unless the change ends it. Rejects with CONFLICT if another lease applies.
   */
  async change(held: Held, change: Partial<JobDoc>): Promise<void> {
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const job = await this.leased(held);
      const lease = { token: held.lease, until: this.#options.nowMs() + this.#options.leaseMs };
      const next = { ...job, lease, ...change, version: job.version + 1 };
      // Only runs need the values of its variables.
      if (next.endedAt !== null) Object.assign(next, { expiresAt: next.endedAt + keptMs, contextJson: '' });
      // Another call of the same gateway may have changed the job.
      const beside = next.endedAt === null ? undefined : endRecord(next);
      if (!(await this.#jobs.replace(next, beside))) continue;
      // If this deletion fails, `take` repeats it.
      if (next.endedAt !== null) await this.#openJobs.delete(job.accountId, job.id);
      return;
    }
    throw new HubError('UNAVAILABLE', 'Too many calls change this job at the same time. Try again.', {
      retryable: true,
    });
  }

  /** Ended jobs whose end nobody has told. */
  listEnded(): Promise<EndedJobDoc[]> {
    return this.#endedJobs.scan({ limit: toldMax });
  }

  /** Lists the job no more as ended. */
  async forgetEnded({ accountId, jobId }: Pick<Held, 'accountId' | 'jobId'>): Promise<void> {
    await this.#endedJobs.delete(accountId, jobId);
  }

  /** Rejects with NOT_FOUND. */
  async delete(view: JobView, jobId: string): Promise<void> {
    const { accountId } = await this.get(view, jobId);
    await this.#jobs.delete(accountId, jobId);
    await this.#openJobs.delete(accountId, jobId);
  }

  /** Removes ended jobs that have expired. */
  async sweep(): Promise<void> {
    while ((await this.#jobs.sweepExpired(this.#options.nowMs(), sweptMax)) === sweptMax);
  }

  /** The jobs that have not ended, oldest first in each account. */
  async *#listOpen(): AsyncGenerator<JobDoc> {
    let after: { accountId: string; id: string } | undefined;
    for (let page = 0; page < pagesMax; page++) {
      const found = await this.#openJobs.scan({ after, limit: pageMax });
      for (const { accountId, id, createdAt } of found) {
        const job = await this.#jobs.get(accountId, id);
        if (job !== null && job.endedAt === null) yield job;
        else if (job !== null || createdAt < this.#options.nowMs() - orphanMs)
          await this.#openJobs.delete(accountId, id);
      }
      after = found.at(-1);
      if (found.length < pageMax) return;
    }
  }
}

function endRecord(job: JobDoc): CompanionWrite {
  const { id, accountId, classifierId, queryId, state, trained, error } = job;
  const code = error === null ? {} : { code: error.code };
  const doc: EndedJobDoc = { id, accountId, version: 1, classifierId, queryId, state, trained, ...code };
  return { collection: 'endedJobs', doc };
}

const waitingSince = ({ createdAt, releasedAt = createdAt }: JobDoc): number => releasedAt;

const tooMany = () =>
  new HubError(
    'QUOTA_EXCEEDED',
    `The account has ${openMax} jobs that have not ended, which is the most allowed. Wait for one to end, or delete one.`,
  );
