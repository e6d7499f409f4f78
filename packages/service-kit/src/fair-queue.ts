/** Serves the keys round-robin, and the items of one key in order. */
export class FairQueue<T> {
  size = 0;
  readonly #queues = new Map<string, T[]>();

  push(key: string, item: T): void {
    const queue = this.#queues.get(key);
    if (queue === undefined) this.#queues.set(key, [item]);
    else queue.push(item);
    this.size++;
  }

  shift(): T | undefined {
    for (const [key, queue] of this.#queues) {
      const item = queue.shift();
      // Moves the key behind the others, if there are any.
      if (queue.length === 0 || this.#queues.size > 1) this.#queues.delete(key);
      if (queue.length > 0) this.#queues.set(key, queue);
      this.size--;
      return item;
    }
    return undefined;
  }

  has(key: string, item: T): boolean {
    return this.#queues.get(key)?.includes(item) ?? false;
  }

  remove(key: string, item: T): boolean {
    const queue = this.#queues.get(key);
    const index = queue?.indexOf(item) ?? -1;
    if (queue === undefined || index === -1) return false;
    queue.splice(index, 1);
    if (queue.length === 0) this.#queues.delete(key);
    this.size--;
    return true;
  }
}
