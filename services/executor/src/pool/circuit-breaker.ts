/**
 * A circuit breaker for each source: it stops connection attempts to a source that is down, and repeated log-ins with
 * refused credentials. It guards new connections only; open ones stay in use.
 */

import { HubError } from '@datahub/service-kit/call/error';
import { SetUpFailed } from '../ports/engine.ts';

export interface BreakerSettings {
  /** Failed attempts within the window that open the circuit. */
  failuresMax: number;
  failureWindowMs: number;
  /** How long an open circuit rejects attempts before it lets one probe through. */
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
  /** Undefined if the attempt may start; the caller must then report how it ended. Otherwise SOURCE_BUSY or SOURCE_AUTH. */
  admit(): HubError | undefined;
  succeeded(): void;
  failed(err: unknown): void;
  /** The attempt ended without showing whether the source is up. */
  abandoned(): void;
}

/** One for each version of the settings of a source, so corrected settings are not held up by a pause. */
export function createBreaker(settings: BreakerSettings, now: () => number): Breaker {
  const failures = createWindow(settings.failuresMax, settings.failureWindowMs);
  const refusals = createWindow(settings.loginFailuresMax, settings.loginWindowMs);
  let pausedUntil = Number.NEGATIVE_INFINITY;
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
      if (now() < pausedUntil) return paused(pausedUntil - now());
      if (openedAt === undefined) return undefined;
      if (state() === 'open' || probing) return circuitOpen(openedAt + settings.openMs - now());
      probing = true;
      return undefined;
    },
    succeeded: () => {
      openedAt = undefined;
      probing = false;
      failures.clear();
      refusals.clear();
    },
    failed: (err) => {
      // The database is up, and the caller needs to know what it lacks.
      if (err instanceof SetUpFailed && err.retryable === false) {
        openedAt = undefined;
        probing = false;
        return;
      }
      if (err instanceof HubError && err.code === 'SOURCE_AUTH') {
        // The database responded, so it is up.
        openedAt = undefined;
        probing = false;
        // The hub itself refuses further attempts with an error that may be retried.
        if (!err.retryable && refusals.add(now())) pausedUntil = now() + settings.loginPauseMs;
      } else if (openedAt !== undefined || failures.add(now())) {
        open();
      }
    },
    abandoned: () => {
      probing = false;
    },
  };
}

function paused(leftMs: number): HubError {
  return new HubError(
    'SOURCE_AUTH',
    'The source refused the log-in several times, so the hub pauses before the next attempt. Check user, password and database.',
    { stage: 'connect', retryable: true, retryAfterMs: leftMs },
  );
}

function circuitOpen(leftMs: number): HubError {
  return new HubError(
    'SOURCE_BUSY',
    'The source could not be reached several times in a row, so the hub pauses before the next attempt.',
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
    clear: () => {
      times = [];
    },
  };
}
