/** The variables of a query that is converted: the names that a product has, and the keys that they get here. */

import type { QueryModel } from '../files/model.ts';

type Entry = QueryModel['context'][number];
/** The value is that of another product's export, and is checked like one of a file when the query is stored. */
export type Traits = Omit<Entry, 'key' | 'value'> & { value?: unknown };

export class Variables {
  readonly #entries = new Map<string, Entry>();

  /** Adds traits to those that are known, and returns the variable as it is in the text. */
  use(name: string, traits: Traits = {}): string {
    const known = this.#entries.get(name);
    if (known !== undefined) {
      // With the type, the default and the allowed values are of that type, too.
      if (known.type === undefined && traits.type !== undefined) Object.assign(known, traits);
      return `:${known.key}`;
    }
    const key = this.#freeKey(name);
    this.#entries.set(name, { key, ...traits } as Entry);
    return `:${key}`;
  }

  /** Required variables have no default, or accept no null. */
  context(): QueryModel['context'] {
    return [...this.#entries.values()];
  }

  #freeKey(name: string): string {
    const plain = name
      .normalize('NFKD')
      .replaceAll(/\p{M}/gu, '')
      .replaceAll(/\W+/g, '_')
      .replace(/^_+(?=\w)|_+$/g, '');
    const base = /^[A-Za-z_]/.test(plain) ? plain : `p_${plain}`;
    const taken = new Set([...this.#entries.values()].map(({ key }) => key));
    let key = base;
    for (let count = 2; taken.has(key); count++) key = `${base}_${count}`;
    return key;
  }
}
