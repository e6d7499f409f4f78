/**
 * Limits failed log-ins, so that the hub cannot be used to guess passwords: before a connection to a source is opened, its
 * attempt is counted at the addresses that will be dialled. The catalog counts over all executors. If it cannot be
 * reached, this process counts alone.
 */

import { createHash } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import {
  LoginGrant,
  type LoginTarget,
  type TakeLoginResponse,
} from '@datahub/proto/catalog/v1/catalog_internal';
import { orAborted } from '@datahub/service-kit/call/abort';
import { createCallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import type { SourceDefinition } from '../definitions/definition.ts';
import { SetUpFailed } from '../ports/engine.ts';
import { LocalLogins, type LoginCounter } from './local-logins.ts';

type Source = Pick<SourceDefinition, 'accountId' | 'sourceId' | 'settingsVersion'>;

export interface LoginAttemptsDeps {
  catalog: LoginCounter;
  nowMs: () => number;
  /** The time limit of a call to the catalog. */
  timeoutMs?: number;
}

/** The most logins of settings that are remembered as accepted. */
const provenMax = 10_000;
const timeoutMsDefault = 1_000;
const askAgainMs = 100;

export class LoginAttempts {
  readonly #deps: LoginAttemptsDeps;
  readonly #local: LocalLogins;
  /** Logins that were accepted, with the version of the settings. */
  readonly #proven = new Set<string>();
  /** The attempts in progress by address. */
  readonly #running = new Map<string, Set<Promise<void>>>();
  /** One promise for each attempt that has begun and not ended. */
  readonly #begun = new Set<Promise<void>>();
  #isStopping = false;

  constructor(deps: LoginAttemptsDeps) {
    this.#deps = deps;
    this.#local = new LocalLogins(deps.nowMs);
  }

  /** Starts one attempt to open a connection. */
  begin(source: Source, user: string): LoginAttempt {
    const attempt = new LoginAttempt(this, source, user);
    this.#begun.add(attempt.ended);
    void attempt.ended.then(() => this.#begun.delete(attempt.ended));
    return attempt;
  }

  /** Runs one attempt, and ends it with its outcome. */
  async attempt<T>(source: Source, user: string, run: (attempt: LoginAttempt) => Promise<T>): Promise<T> {
    const attempt = this.begin(source, user);
    try {
      const result = await run(attempt);
      void attempt.end();
      return result;
    } catch (err) {
      await attempt.end(err);
      throw err;
    }
  }

  /** True once `stop` was called. Attempts that fail then do not count unless the server refused the password. */
  get isStopping(): boolean {
    return this.#isStopping;
  }

  /**
   * Ends the attempts in progress because the process stops: `cut` closes their connections. Resolves when the catalog
   * has been told how each ended, or the time limits of those calls have passed.
   */
  async stop(cut: () => Promise<unknown>): Promise<void> {
    this.#isStopping = true;
    await cut();
    await Promise.all(this.#begun);
  }

  isProven(source: Source, { login }: LoginTarget): boolean {
    return this.#proven.has(provenKey(source, login));
  }

  async take(source: Source, targets: LoginTarget[]): Promise<TakeLoginResponse & { counter: LoginCounter }> {
    const { sourceId, settingsVersion } = source;
    const request = { sourceId, settingsVersion, targets };
    const { catalog } = this.#deps;
    try {
      return { ...(await catalog.takeLogin(request, this.#ctx(source))), counter: catalog };
    } catch {
      return { ...(await this.#local.takeLogin(request, this.#ctx(source))), counter: this.#local };
    }
  }

  async end(source: Source, ended: Ended): Promise<void> {
    const { sourceId, settingsVersion } = source;
    const { counter, minute, target, returns, accepted, refused } = ended;
    if (accepted) this.#prove(provenKey(source, target.login));
    const targets = [target];
    const outcome = returns ? { returned: targets, failed: [] } : { returned: [], failed: targets };
    const request = { ...outcome, accepted: accepted ? targets : [], refused };
    // Without this call, the attempt counts as being in progress until the minute ends.
    await counter
      .endLogin({ sourceId, settingsVersion, minute, ...request }, this.#ctx(source))
      .catch(() => {});
  }

  /** The attempts of the account at these addresses that have not ended. */
  running({ accountId }: Source, targets: LoginTarget[]): Promise<void>[] {
    return targets.flatMap(({ address }) => [...(this.#running.get(`${accountId} ${address}`) ?? [])]);
  }

  /** Lists an attempt as running until it ends. */
  track({ accountId }: Source, targets: LoginTarget[], ended: Promise<void>): void {
    for (const { address } of targets) {
      const key = `${accountId} ${address}`;
      const own = this.#running.get(key) ?? new Set();
      this.#running.set(key, own.add(ended));
      void ended.then(() => {
        own.delete(ended);
        if (own.size === 0) this.#running.delete(key);
      });
    }
  }

  #prove(key: string): void {
    this.#proven.add(key);
    if (this.#proven.size > provenMax) this.#proven.delete(this.#proven.values().next().value as string);
  }

  #ctx({ accountId }: Source) {
    const principal = { accountId, keyId: '', scopes: [], limits: undefined };
    return createCallContext({ timeoutMs: this.#deps.timeoutMs ?? timeoutMsDefault, principal });
  }
}

interface Ended {
  counter: LoginCounter;
  minute: number;
  target: LoginTarget;
  /** True if the attempt does not count. */
  returns: boolean;
  accepted: boolean;
  refused: boolean;
}

const provenKey = ({ sourceId, settingsVersion }: Source, login: string) =>
  `${sourceId} ${settingsVersion} ${login}`;

const digest = (parts: unknown[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 24);

/** Where a log-in goes: an address, or a host behind the bastion at this address. */
export interface LoginPlace {
  address: string;
  behind?: string | undefined;
}

/** One opening of a connection. It may dial several addresses, of several servers. */
export class LoginAttempt {
  readonly #all: LoginAttempts;
  readonly #source: Source;
  readonly #user: string;
  /** The targets that were granted, by login, and where each was counted. */
  readonly #granted = new Map<string, { target: LoginTarget; minute: number; counter?: LoginCounter }>();
  readonly #reached = new Map<string, LoginTarget>();
  #last: LoginTarget | undefined;
  /** The logins of servers that accepted it. */
  readonly #accepted = new Set<string>();
  readonly #ended = Promise.withResolvers<void>();
  readonly ended = this.#ended.promise;
  readonly #taking = new Set<Promise<unknown>>();
  #hasFailed = false;

  constructor(all: LoginAttempts, source: Source, user: string) {
    this.#all = all;
    this.#source = source;
    this.#user = user;
  }

  /** Returns the addresses that may be dialled. Rejects with SOURCE_AUTH if there are none, and once the attempt failed. */
  async admit<P extends LoginPlace>(addresses: P[], port: number, signal: AbortSignal): Promise<P[]> {
    const targets = addresses.map((place) => this.#targetOf(place, port));
    for (;;) {
      this.#requireOpen();
      const { retryAfterMs, isWaiting } = await this.#take(targets);
      this.#requireOpen();
      const allowed = addresses.filter((_, i) => this.#granted.has((targets[i] as LoginTarget).login));
      if (allowed.length > 0) return allowed;
      // Attempts in progress, here or in another executor, may succeed, and then do not count.
      const others = this.#all.running(this.#source, targets).filter((ended) => ended !== this.ended);
      if (others.length === 0 && !isWaiting) throw tooManyFailures(retryAfterMs);
      const room = isWaiting ? [...others, setTimeout(askAgainMs)] : others;
      await orAborted(Promise.race(room), signal);
    }
  }

  /** A connection to this address was made. */
  reached(place: LoginPlace, port: number): void {
    const target = this.#targetOf(place, port);
    this.#reached.set(target.login, target);
    this.#last = target;
  }

  /** The server that was reached last has accepted the log-in, whatever becomes of the attempt. */
  accepted(): void {
    if (this.#last !== undefined) this.#accepted.add(this.#last.login);
  }

  /** Call this once, with the error if no connection was opened. */
  async end(err?: unknown): Promise<void> {
    this.#hasFailed = err !== undefined;
    const code = err instanceof HubError ? err.code : undefined;
    const isAccepted = err === undefined || err instanceof SetUpFailed;
    // TLS fails before a password is sent.
    const isExempt = isAccepted || code === 'SOURCE_TLS' || (code !== 'SOURCE_AUTH' && this.#all.isStopping);
    try {
      // What is counted meanwhile must be given back, too.
      await Promise.allSettled(this.#taking);
      for (const { target, minute, counter } of this.#granted.values()) {
        if (counter === undefined) continue;
        const hasReached = this.#reached.has(target.login);
        const accepted = this.#accepted.has(target.login) || (isAccepted && hasReached);
        await this.#all.end(this.#source, {
          ...{ counter, minute, target, accepted },
          returns: isExempt || accepted || !hasReached,
          refused: code === 'SOURCE_AUTH' && hasReached && !accepted,
        });
      }
    } finally {
      this.#ended.resolve();
    }
  }

  #requireOpen(): void {
    if (this.#hasFailed) throw new Error('The attempt to open a connection has already failed.');
  }

  async #take(targets: LoginTarget[]): Promise<{ retryAfterMs: number; isWaiting: boolean }> {
    const taking = this.#count(targets);
    this.#taking.add(taking);
    try {
      return await taking;
    } finally {
      this.#taking.delete(taking);
    }
  }

  /**
   * Counts the attempt at the targets that are not granted yet. Returns the time until the next minute, and whether an
   * attempt in another executor may make room before.
   */
  async #count(targets: LoginTarget[]): Promise<{ retryAfterMs: number; isWaiting: boolean }> {
    const open: LoginTarget[] = [];
    for (const target of targets) {
      if (this.#granted.has(target.login)) continue;
      if (this.#all.isProven(this.#source, target)) this.#granted.set(target.login, { target, minute: 0 });
      else open.push(target);
    }
    if (open.length === 0) return { retryAfterMs: 0, isWaiting: false };
    const { grants, minute, retryAfterMs, counter } = await this.#all.take(this.#source, open);
    const counted: LoginTarget[] = [];
    for (const [i, target] of open.entries()) {
      const grant = grants[i];
      if (grant === LoginGrant.LOGIN_GRANT_PROVEN) this.#granted.set(target.login, { target, minute });
      if (grant !== LoginGrant.LOGIN_GRANT_COUNTED) continue;
      this.#granted.set(target.login, { target, minute, counter });
      counted.push(target);
    }
    this.#all.track(this.#source, counted, this.ended);
    return { retryAfterMs, isWaiting: grants.includes(LoginGrant.LOGIN_GRANT_WAIT) };
  }

  /** All hosts behind a bastion count at its address, because one server can have many names there. */
  #targetOf({ address, behind }: LoginPlace, port: number): LoginTarget {
    const via = behind === undefined ? [] : [behind];
    return { login: digest([address, port, this.#user, ...via]), address: digest([address]) };
  }
}

function tooManyFailures(retryAfterMs: number): HubError {
  return new HubError(
    'SOURCE_AUTH',
    'Too many log-ins of this user at this server, or at its address, have failed within a minute, so the hub makes no further attempt. Check user, password and database, and try again later.',
    { stage: 'connect', retryable: true, retryAfterMs },
  );
}
