/** Counts attempts to log in while the catalog cannot be reached, by the catalog's rules, in this process alone. */

import { loginFailuresMax as failuresMax } from '@datahub/contract/limits';
import { LoginGrant, type LoginTarget } from '@datahub/proto/catalog/v1/catalog_internal';
import type { CallContext } from '@datahub/service-kit/call/call';
import type { Catalog } from '../definitions/definition.ts';

export type LoginCounter = Pick<Catalog, 'takeLogin' | 'endLogin'>;

const minuteMs = 60_000;
/** Beyond this number, all attempts of new servers are refused until the minute ends. */
const countersMax = 100_000;

export class LocalLogins implements LoginCounter {
  readonly #nowMs: () => number;
  #minute = 0;
  #counts = new Map<string, number>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  takeLogin: LoginCounter['takeLogin'] = async ({ targets }, ctx) => {
    const minute = this.#startMinute();
    const grants = targets.map((target) => {
      const keys = keysOf(target, ctx);
      const isFull = keys.some(([key, most]) => (this.#counts.get(key) ?? 0) >= most);
      if (isFull || this.#counts.size >= countersMax) return LoginGrant.LOGIN_GRANT_REFUSED;
      for (const [key] of keys) this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
      return LoginGrant.LOGIN_GRANT_COUNTED;
    });
    return { grants, minute, retryAfterMs: Math.max(1, (minute + 1) * minuteMs - this.#nowMs()) };
  };

  endLogin: LoginCounter['endLogin'] = async ({ minute, returned }, ctx) => {
    if (minute !== this.#startMinute()) return {};
    for (const target of returned) {
      for (const [key] of keysOf(target, ctx)) this.#counts.set(key, (this.#counts.get(key) ?? 1) - 1);
    }
    return {};
  };

  #startMinute(): number {
    const minute = Math.floor(this.#nowMs() / minuteMs);
    if (minute !== this.#minute) this.#counts = new Map();
    this.#minute = minute;
    return minute;
  }
}

function keysOf({ login, address }: LoginTarget, { principal }: CallContext): [key: string, most: number][] {
  const account = principal?.accountId;
  return [
    [`${account} login ${login}`, failuresMax.login],
    [`${account} address ${address}`, failuresMax.address],
  ];
}
