/** A binary heap: the highest worth first, of equal ones the lowest id, so that two runs agree. */

export interface Entry {
  id: number;
  worth: number;
}

export interface Heap {
  push(id: number, worth: number): void;
  pop(): Entry | undefined;
}

export function createHeap(sizeMax: number): Heap {
  const ids = new Int32Array(sizeMax);
  const worths = new Float64Array(sizeMax);
  let size = 0;
  const before = (a: number, b: number) => {
    const difference = (worths[a] ?? 0) - (worths[b] ?? 0);
    return difference > 0 || (difference === 0 && (ids[a] ?? 0) < (ids[b] ?? 0));
  };
  const put = (at: number, id: number, worth: number) => {
    ids[at] = id;
    worths[at] = worth;
  };
  const swap = (a: number, b: number) => {
    const id = ids[a] ?? 0;
    const worth = worths[a] ?? 0;
    put(a, ids[b] ?? 0, worths[b] ?? 0);
    put(b, id, worth);
  };
  const sink = () => {
    let at = 0;
    for (let child = 1; child < size; child = 2 * at + 1) {
      if (child + 1 < size && before(child + 1, child)) child += 1;
      if (!before(child, at)) return;
      swap(at, child);
      at = child;
    }
  };
  return {
    push: (id, worth) => {
      let at = size;
      put(size, id, worth);
      size += 1;
      while (at > 0 && before(at, (at - 1) >> 1)) {
        swap(at, (at - 1) >> 1);
        at = (at - 1) >> 1;
      }
    },
    pop: () => {
      if (size === 0) return undefined;
      const top = { id: ids[0] ?? 0, worth: worths[0] ?? 0 };
      size -= 1;
      put(0, ids[size] ?? 0, worths[size] ?? 0);
      sink();
      return top;
    },
  };
}
