/**
 * Key → principal. A warm key costs a hash and a look-up in memory: what the catalog said of it is good for some
 * seconds and refreshed behind the requests' backs; while the catalog cannot be reached, a known key goes on for at
 * most a minute. Only hashes are kept, so a look-up tells nothing about a key's characters.
 */

import type { Principal } from '@datahub/proto/common/v1/principal';
import { hashApiKey, isPossibleKey } from '@datahub/service-kit/api-key';
import { createCallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import type { Upstreams } from '../upstreams.ts';

export interface AuthOptions {
  catalog: Pick<Upstreams['catalog'], 'authenticate'>;
  cacheMs: number;
  awayMs: number;
  /** Keys remembered at most; the one asked longest ago makes way. */
  keysMax?: number;
  nowMs?: () => number;
}

export interface Auth {
  /**
   * Resolves at once for a warm key; `beforeUnknown` is called before any other is looked at, and may throw. Rejects with
   * KEY_MISSING, KEY_INVALID, KEY_EXPIRED or UNAVAILABLE.
   */
  principalOf(
    header: string | string[] | undefined,
    beforeUnknown: () => void,
  ): Principal | Promise<Principal>;
}

interface Entry {
  principal: Principal;
  expiresAtMs: number;
  /** By the monotonic clock. */
  checkedAt: number;
  refreshing: boolean;
  /** When the catalog was last found away, by the same clock. */
  awayAt: number;
}

const lookUpTimeoutMs = 5_000;
/** After a failed question the catalog counts as away for this long, and meanwhile nobody waits for the next one. */
const awayPauseMs = 1_000;

export function createAuth(options: AuthOptions): Auth {
  const { catalog, cacheMs, awayMs, keysMax = 10_000, nowMs = Date.now } = options;
  const entries = new Map<string, Entry>();
  const asking = new Map<string, Promise<Principal>>();

  const ask = async (hash: string): Promise<Principal> => {
    const askedAt = performance.now();
    const answer = await catalog.authenticate(
      { keySha256: Buffer.from(hash, 'hex') },
      createCallContext({ timeoutMs: lookUpTimeoutMs }),
    );
    if (answer.principal === undefined) throw new HubError('INTERNAL', 'The catalog named no principal.');
    const expiresAtMs = answer.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY;
    entries.delete(hash);
    entries.set(hash, {
      principal: answer.principal,
      expiresAtMs,
      checkedAt: askedAt,
      refreshing: false,
      awayAt: Number.NEGATIVE_INFINITY,
    });
    if (entries.size > keysMax) entries.delete(entries.keys().next().value as string);
    return answer.principal;
  };

  /** One question at a time for a key, however many requests wait for it. */
  const askOnce = (hash: string): Promise<Principal> => {
    const running = asking.get(hash);
    if (running) return running;
    const question = ask(hash).finally(() => asking.delete(hash));
    asking.set(hash, question);
    return question;
  };

  const askOrTrust = async (hash: string, entry: Entry): Promise<Principal> => {
    try {
      return await askOnce(hash);
    } catch (err) {
      const away = err instanceof HubError && err.code === 'UNAVAILABLE';
      if (away && performance.now() - entry.checkedAt < awayMs) {
        entry.awayAt = performance.now();
        return entry.principal;
      }
      entries.delete(hash);
      throw err;
    }
  };

  const refresh = (hash: string, entry: Entry): void => {
    entry.refreshing = true;
    askOrTrust(hash, entry)
      .catch(() => {})
      .finally(() => {
        entry.refreshing = false;
      });
  };

  /** True while whoever waited for the catalog would only learn that it is still away. */
  const isTrusted = ({ checkedAt, awayAt, refreshing }: Entry): boolean => {
    const now = performance.now();
    if (now - checkedAt >= awayMs) return false;
    return now - awayAt < awayPauseMs || (refreshing && awayAt > checkedAt);
  };

  return {
    principalOf: (header, beforeUnknown) => {
      if (header === undefined || header === '') {
        beforeUnknown();
        throw new HubError('KEY_MISSING', 'Send your key in the header x-service-api-key.');
      }
      if (typeof header !== 'string' || !isPossibleKey(header)) {
        beforeUnknown();
        throw invalidKey();
      }
      const hash = hashApiKey(header);
      const entry = entries.get(hash);
      if (entry === undefined) {
        beforeUnknown();
        return askOnce(hash);
      }
      if (entry.expiresAtMs <= nowMs()) throw new HubError('KEY_EXPIRED', 'This key has expired.');
      const age = performance.now() - entry.checkedAt;
      if (age >= cacheMs && !isTrusted(entry)) return askOrTrust(hash, entry);
      if (age >= cacheMs / 2 && !entry.refreshing) refresh(hash, entry);
      return entry.principal;
    },
  };
}

/** The same words as the catalog's for an unknown key: a malformed one tells nothing more. */
function invalidKey(): HubError {
  return new HubError('KEY_INVALID', 'This key is not known, or it was revoked.');
}
