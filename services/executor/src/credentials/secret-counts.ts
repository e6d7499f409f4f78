/** How many stored secrets each sealing key has, so that an operator knows when an old key can be removed. */

import { parseKey } from '@datahub/sealing/key-pair';
import { keyIdOf } from '@datahub/sealing/opener';

const name = 'datahub_sealed_secrets';

export interface SecretCounts {
  /** Counts anew. The counts so far hold until the new ones are finished. */
  begin(): { onFound(text: string): void; finish(): void };
  metrics(): string;
}

export function createSecretCounts(privateKeys: readonly string[]): SecretCounts {
  const none = privateKeys.map((key) => [parseKey(key).id, 0] as const);
  let finished = new Map<string, number>();
  return {
    begin: () => {
      const counts = new Map<string, number>(none);
      return {
        onFound: (text) => {
          const keyId = keyIdOf(text) ?? 'unknown';
          counts.set(keyId, (counts.get(keyId) ?? 0) + 1);
        },
        finish: () => {
          finished = counts;
        },
      };
    },
    metrics: () => {
      if (finished.size === 0) return '';
      const samples = [...finished].map(([keyId, count]) => `${name}{key="${keyId}"} ${count}\n`);
      return `# TYPE ${name} gauge\n${samples.join('')}`;
    },
  };
}
