/**
 * A circuit breaker for each source: it stops connection attempts to a source that is down, and repeated log-ins with
 * refused credentials. It guards new connections only; open ones stay in use.
 */

import { HubError } from '@datahub/service-kit/call/error';

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

/** `logins` belongs to this version of the source's settings. */
export function createBreaker(
  settings: BreakerSettings,
  now: () => number,
  logins = createSourceLogins(settings, now).of(''),
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
        // The database responded, so it is up.
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
}

/** Refused log-ins of one source, whatever its settings. */
export interface SourceLogins {
  /** Another version of the settings may be tried at once. */
  of(settingsVersion: string): LoginGuard;
  /** False if no failure is recent: the object may be dropped. */
  readonly hasFailures: boolean;
}

/**
 * A pause applies to the version of the settings that was refused, so a corrected password works at once. Failures are
 * counted across versions: after a pause each version has one attempt, so that changing the password again and again
 * does not allow guessing it.
 */
export function createSourceLogins(settings: BreakerSettings, now: () => number): SourceLogins {
  const failures = createWindow(settings.loginFailuresMax, settings.loginWindowMs);
  let paused = { version: '', until: 0 };
  return {
    get hasFailures() {
      return now() < paused.until || failures.any(now());
    },
    of: (version) => ({
      admit: () => {
        const leftMs = paused.version === version ? paused.until - now() : 0;
        if (leftMs <= 0) return undefined;
        return new HubError(
          'SOURCE_AUTH',
          'The source refused the log-in several times, so the hub pauses before the next attempt. Corrected settings are tried at once.',
          { stage: 'connect', retryable: true, retryAfterMs: leftMs },
        );
      },
      succeeded: () => failures.clear(),
      failed: () => {
        if (failures.add(now())) paused = { version, until: now() + settings.loginPauseMs };
      },
    }),
  };
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
    any: (atMs: number): boolean => times.some((time) => atMs - time < windowMs),
    clear: () => {
      times = [];
    },
  };
}
