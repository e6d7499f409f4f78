/** The cost of checking a cached key, against one SHA-256 of the same key. */

import { createHash } from 'node:crypto';
import { createApiKey } from '@datahub/service-kit/api-key';
import { createKeyCache } from '../services/gateway/src/access/authenticate.ts';
import { printHead, printRow } from './support/table.ts';

const rounds = Number(process.env.BENCH_ROUNDS ?? 5);
const checks = 300_000;
const keys = Array.from({ length: 1_000 }, createApiKey);
let asked = 0;
const keyCache = createKeyCache({
  catalog: {
    authenticate: async () => {
      asked++;
      return {
        principal: { accountId: 'a', keyId: 'k', scopes: ['*'], limits: undefined },
        expiresAt: undefined,
      };
    },
  },
  cacheMs: 600_000,
  awayMs: 600_000,
});

function micros(one: (key: string) => unknown): number {
  const startedAt = performance.now();
  for (let i = 0; i < checks; i++) one(keys[i % keys.length] as string);
  return ((performance.now() - startedAt) * 1_000) / checks;
}

printHead(`A warm key among ${keys.length.toLocaleString('en')}, against one SHA-256`);
for (const key of keys) await keyCache.principalOf(key, () => {});
const before = asked;
const check = (key: string) => keyCache.principalOf(key, () => {});
const hash = (key: string) => createHash('sha256').update(key).digest('hex');
micros(check);
micros(hash);
const pairs = Array.from({ length: rounds }, () => ({ ours: micros(check), baseline: micros(hash) }));
printRow({ name: 'one check (goal: at most 5 µs)', unit: 'µs', pairs, better: 'lower', goal: 8 });
process.stdout.write(`${''.padEnd(44)}${asked - before} questions to the catalog meanwhile\n`);
