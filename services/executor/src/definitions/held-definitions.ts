/**
 * Bounds the memory of the definitions that calls use. The cache bounds only what it keeps: a definition that it has
 * dropped, or a draft, stays in memory, compiled, until the last call that uses it has ended.
 */

import { requireHeap } from '@datahub/service-kit/heap';
import { HeldBytes } from '@datahub/service-kit/held-bytes';
import type { QueryDefinition } from './definition.ts';

const charactersMax = 67_108_864;
/** Smaller definitions do not count. */
const countedMin = 4_096;

export class HeldDefinitions {
  readonly #held = new HeldBytes(charactersMax, { what: 'large queries', end: 'their databases' });
  /** The number of calls that use the definition. */
  readonly #uses = new Map<QueryDefinition, number>();

  /**
   * Counts a definition, once for all calls that use the same object, until what it returns is disposed of. Call it before
   * the definition is compiled. Throws UNAVAILABLE if the calls of the account, or all, use too much.
   */
  hold(definition: QueryDefinition): Disposable | undefined {
    requireHeap('begin');
    const { accountId, characters } = definition;
    if (characters < countedMin) return undefined;
    const uses = this.#uses.get(definition) ?? 0;
    if (uses === 0) this.#held.hold(accountId, characters);
    this.#uses.set(definition, uses + 1);
    return { [Symbol.dispose]: () => this.#release(definition) };
  }

  #release(definition: QueryDefinition): void {
    const uses = (this.#uses.get(definition) ?? 1) - 1;
    if (uses > 0) this.#uses.set(definition, uses);
    else {
      this.#uses.delete(definition);
      this.#held.release(definition.accountId, definition.characters);
    }
  }
}
