/**
 * The public keys of issuers of tokens. The executor fetches them, because it has the address policy and the way out.
 * They are used for ten minutes, and for an hour if the issuer cannot be reached meanwhile.
 */

import type { UserLimit } from '@datahub/contract/user-limit';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { createCallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { joined } from '@datahub/service-kit/yield-to-loop';
import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import { LRUCache } from 'lru-cache';
import type { Upstreams } from '../upstreams.ts';

export interface IssuerKeys {
  /** Rejects with UNAVAILABLE if the keys are unknown and cannot be fetched. */
  of(limit: UserLimit, principal: Principal): Promise<KeySet>;
  /** For a token with a key that the set lacks: newer keys, or undefined if there are none yet. */
  newer(limit: UserLimit, principal: Principal): Promise<KeySet | undefined>;
}

/** Finds the key of a token. Another function as soon as the keys were fetched again. */
export type KeySet = JWTVerifyGetKey;

export interface IssuerKeysOptions {
  executor: Pick<Upstreams['executor'], 'fetchIssuerKeys'>;
  /** Monotonic, in milliseconds. */
  now?: () => number;
}

interface Entry {
  name: string;
  /** Of the keys as JSON. */
  characters: number;
  keys: KeySet | undefined;
  fetchedAt: number;
  failedAt: number;
  /** When a token last had an unknown key. */
  missedAt: number;
  fetching: Promise<KeySet> | undefined;
}

const issuersMax = 1_000;
/** Of the keys that are kept, as JSON. */
const charactersMax = 8 * 1_048_576;
const fetchTimeoutMs = 7_000;
const usedMs = 600_000;
const usedAfterFailureMs = 3_600_000;
/** A failed fetch is repeated after this time. */
const retryPauseMs = 5_000;
const missPauseMs = 60_000;

const never = Number.NEGATIVE_INFINITY;
const unfetched: Omit<Entry, 'name'> = {
  characters: 0,
  keys: undefined,
  fetchedAt: never,
  failedAt: never,
  missedAt: never,
  fetching: undefined,
};

const createCache = <V extends object>(sizeCalculation: (value: V, name: string) => number) =>
  new LRUCache<string, V>({ max: issuersMax, maxSize: charactersMax, sizeCalculation });

export function createIssuerKeys({ executor, now = () => performance.now() }: IssuerKeysOptions): IssuerKeys {
  const entries = createCache<Entry>(({ characters }, name) => name.length + characters);
  const given = createCache<KeySet>((_, json) => json.length);

  const entryOf = ({ issuer, jwksUrl }: UserLimit, { accountId }: Principal): Entry => {
    const name = JSON.stringify([accountId, issuer, jwksUrl]);
    let entry = entries.get(name);
    if (entry === undefined) {
      entry = { ...unfetched, name };
      entries.set(name, entry);
    }
    return entry;
  };

  const fetchOnce = (entry: Entry, { issuer, jwksUrl }: UserLimit, principal: Principal) => {
    const fetching = async (): Promise<KeySet> => {
      try {
        const ctx = createCallContext({ timeoutMs: fetchTimeoutMs, principal });
        const { jwksJson } = await executor.fetchIssuerKeys({ issuer, jwksUrl }, ctx);
        entry.keys = createLocalJWKSet(JSON.parse(jwksJson) as JSONWebKeySet);
        entry.fetchedAt = now();
        entry.characters = jwksJson.length;
        // The size of an entry is read when it is added.
        entries.delete(entry.name);
        entries.set(entry.name, entry);
        return entry.keys;
      } catch (err) {
        entry.failedAt = now();
        throw err;
      }
    };
    entry.fetching ??= fetching().finally(() => {
      entry.fetching = undefined;
    });
    return joined(entry.fetching);
  };

  const givenKeys = (jwksJson: string): KeySet => {
    const keys = given.get(jwksJson) ?? createLocalJWKSet(JSON.parse(jwksJson) as JSONWebKeySet);
    given.set(jwksJson, keys);
    return keys;
  };

  return {
    of: async (limit, principal) => {
      if (limit.jwksJson !== undefined) return givenKeys(limit.jwksJson);
      const entry = entryOf(limit, principal);
      const age = now() - entry.fetchedAt;
      if (entry.keys !== undefined && age < usedMs) return entry.keys;
      const old = age < usedAfterFailureMs ? entry.keys : undefined;
      const isPausing = now() - entry.failedAt < retryPauseMs;
      if (isPausing && entry.fetching === undefined) return old ?? unreachable();
      return fetchOnce(entry, limit, principal).catch((err) => {
        if (old !== undefined) return old;
        throw err;
      });
    },

    newer: async (limit, principal) => {
      if (limit.jwksJson !== undefined) return undefined;
      const entry = entryOf(limit, principal);
      if (entry.fetching === undefined && now() - entry.missedAt < missPauseMs) return undefined;
      entry.missedAt = now();
      return fetchOnce(entry, limit, principal).catch(() => undefined);
    },
  };
}

function unreachable(): never {
  throw new HubError(
    'UNAVAILABLE',
    'The keys of the issuer of tokens could not be fetched. Try again in some seconds.',
    { stage: 'connect', retryable: true, retryAfterMs: retryPauseMs },
  );
}
