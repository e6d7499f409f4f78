/** The keys of cached entries by the ids that they depend on: there are tens of thousands of entries, and many changes. */
export class KeysById {
  readonly #keys = new Map<string, Set<string>>();

  add(key: string, ids: readonly string[]): void {
    for (const id of ids) {
      const keys = this.#keys.get(id);
      if (keys === undefined) this.#keys.set(id, new Set([key]));
      else keys.add(key);
    }
  }

  remove(key: string, ids: readonly string[]): void {
    for (const id of ids) {
      const keys = this.#keys.get(id);
      keys?.delete(key);
      if (keys?.size === 0) this.#keys.delete(id);
    }
  }

  /** The keys of all entries that depend on one of these ids. */
  of(ids: readonly string[]): Set<string> {
    return new Set(ids.flatMap((id) => [...(this.#keys.get(id) ?? [])]));
  }
}
