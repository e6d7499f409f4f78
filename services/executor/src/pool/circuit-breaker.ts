/**
 * Keeps the executor from beating on a source that is down, and from trying passwords on somebody's database. It
 * guards new connections only; those already open are used as long as they live.
 */

import { HubError } from '@datahub/service-kit/call/error';

export interface BreakerSettings {
  /** Failed connects within the window that open the circuit. */
  failuresMax: number;
  failureWindowMs: number;
  /** How long an open circuit refuses at once, before one probe may try. */
  openMs: number;
  /** Refused log-ins within the window that pause the source. */
  loginFailuresMax: number;
  loginWindowMs: number;
  loginPauseMs: number;
}

export const defaultBreakerSettings: BreakerSettings = {
  failuresMax: 5,
  failureWindowMs: 10_000,
  openMs: 2_000,
  loginFailuresMax: 5,
  loginWindowMs: 60_000,
  loginPauseMs: 60_000,
};

export type BreakerState = 'closed' | 'open' | 'half-open';

export interface Breaker {
  readonly state: BreakerState;
  /** Undefined lets the attempt go; the caller must report how it ended. Else why it may not: SOURCE_BUSY, SOURCE_AUTH. */
  admit(): HubError | undefined;
  succeeded(): void;
  failed(err: unknown): void;
  /** The attempt ended without telling anything of the source. */
  abandoned(): void;
}

/** `logins` outlives a change of settings, so that changing the password over and over is no way to try many. */
export function createBreaker(
  settings: BreakerSettings,
  now: () => number,
  logins = createLoginGuard(settings, now),
): Breaker {
  const failures = createWindow(settings.failuresMax, settings.failureWindowMs);
  let openedAt: number | undefined;
  let probing = false;

  const open = () => {
    openedAt = now();
    probing = false;
  };
  const state = (): BreakerState => {
    if (openedAt === undefined) return 'closed';
    return now() - openedAt < settings.openMs ? 'open' : 'half-open';
  };

  return {
    get state() {
      return state();
    },
    admit: () => {
      const paused = logins.admit();
      if (paused) return paused;
      if (openedAt === undefined) return undefined;
      if (state() === 'open' || probing) return circuitOpen(openedAt + settings.openMs - now());
      probing = true;
      return undefined;
    },
    succeeded: () => {
      openedAt = undefined;
      probing = false;
      failures.clear();
      logins.succeeded();
    },
    failed: (err) => {
      if (err instanceof HubError && err.code === 'SOURCE_AUTH') {
        // The database answered, so it is up.
        openedAt = undefined;
        probing = false;
        logins.failed();
      } else if (openedAt !== undefined || failures.add(now())) {
        open();
      }
    },
    abandoned: () => {
      probing = false;
    },
  };
}

export interface LoginGuard {
  admit(): HubError | undefined;
  succeeded(): void;
  failed(): void;
  /** False when it remembers nothing and may be dropped. */
  readonly remembers: boolean;
}

export function createLoginGuard(settings: BreakerSettings, now: () => number): LoginGuard {
  const failures = createWindow(settings.loginFailuresMax, settings.loginWindowMs);
  let pausedUntil = 0;
  return {
    get remembers() {
      return now() < pausedUntil || failures.holds(now());
    },
    admit: () => {
      const leftMs = pausedUntil - now();
      if (leftMs <= 0) return undefined;
      return new HubError(
        'SOURCE_AUTH',
        'The source refused the log-in several times, so the hub pauses before it tries another, a corrected one, too.',
        { stage: 'connect', retryable: true, retryAfterMs: leftMs },
      );
    },
    succeeded: () => failures.clear(),
    failed: () => {
      if (!failures.add(now())) return;
      pausedUntil = now() + settings.loginPauseMs;
      failures.clear();
    },
  };
}

function circuitOpen(leftMs: number): HubError {
  return new HubError(
    'SOURCE_BUSY',
    'The source could not be reached several times in a row, so the hub waits a moment before it tries again.',
    { stage: 'connect', retryable: true, retryAfterMs: Math.max(leftMs, 500) },
  );
}

/** Remembers the last `countMax` times; `add` is true when that many lie within the window. */
function createWindow(countMax: number, windowMs: number) {
  let times: number[] = [];
  return {
    add: (atMs: number): boolean => {
      times = [...times.filter((time) => atMs - time < windowMs), atMs].slice(-countMax);
      return times.length >= countMax;
    },
    holds: (atMs: number): boolean => times.some((time) => atMs - time < windowMs),
    clear: () => {
      times = [];
    },
  };
}
