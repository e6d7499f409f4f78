/** Earlier examples: a reservoir for each class to replay from, and a ring of examples held out for calibration. */

/** An example as rows of the tables. */
export interface Kept {
  rows: Int32Array;
  weights: Float32Array;
  /** The first so many rows are words, the rest characters. */
  words: number;
  classIndex: number;
  /** Squared weights of the features that have no row; absent where all have one. */
  strange?: { words: number; characters: number };
}

export interface MemoryState {
  random: number;
  /** By class index. */
  reservoirs: Map<number, { seen: number; kept: Kept[] }>;
  heldOut: Map<number, Kept[]>;
}

export interface Memory {
  /** Takes an example in; what the regression may learn now comes back: it, or what leaves the ring for it. */
  add(example: Kept, number: number): { learn: Kept[] };
  /** One kept example: of a class drawn evenly, or by how often each class was seen. */
  draw(evenly: boolean): Kept | undefined;
  drawHeldOut(): Kept | undefined;
  drop(classIndex: number): void;
  readonly state: MemoryState;
}

const keptMax = 4_000;
const keptPerClassMin = 20;
/** Features of all kept examples together: 8 bytes each. */
const featuresMax = 1_000_000;
const heldOutMax = 400;
const heldOutPerClassMin = 2;
const heldOutEvery = 10;
/** Not before: of few examples the regression needs every one. */
const heldOutFrom = 15;

export function createMemory(from?: MemoryState): Memory {
  const state: MemoryState = from ?? { random: 0x2545f491, reservoirs: new Map(), heldOut: new Map() };
  const { reservoirs, heldOut } = state;
  let features = 0;
  for (const { kept } of reservoirs.values()) for (const { rows } of kept) features += rows.length;

  /** Marsaglia's xorshift, the same on every machine. */
  const random = (below: number): number => {
    let value = state.random;
    value ^= value << 13;
    value ^= value >>> 17;
    value ^= value << 5;
    state.random = value;
    return Math.floor(((value >>> 0) / 4_294_967_296) * below);
  };

  const keep = (example: Kept): void => {
    const reservoir = reservoirs.get(example.classIndex) ?? { seen: 0, kept: [] };
    reservoirs.set(example.classIndex, reservoir);
    reservoir.seen++;
    const affordable = features > 0 ? Math.floor((featuresMax / features) * countKept()) : keptMax;
    const share = Math.floor(Math.min(keptMax, affordable) / reservoirs.size);
    const room = Math.max(keptPerClassMin, share);
    while (reservoir.kept.length > room) features -= reservoir.kept.pop()?.rows.length ?? 0;
    if (reservoir.kept.length < room) {
      reservoir.kept.push(example);
      features += example.rows.length;
      return;
    }
    const at = random(reservoir.seen);
    const old = reservoir.kept[at];
    if (old === undefined) return;
    features += example.rows.length - old.rows.length;
    reservoir.kept[at] = example;
  };

  const countKept = (): number => {
    let count = 0;
    for (const { kept } of reservoirs.values()) count += kept.length;
    return count;
  };

  return {
    state,
    add: (example, number) => {
      if (number < heldOutFrom || number % heldOutEvery !== heldOutFrom % heldOutEvery) {
        keep(example);
        return { learn: [example] };
      }
      const ring = heldOut.get(example.classIndex) ?? [];
      heldOut.set(example.classIndex, ring);
      ring.push(example);
      const learn: Kept[] = [];
      const room = Math.max(heldOutPerClassMin, Math.floor(heldOutMax / heldOut.size));
      while (ring.length > room) learn.push(ring.shift() as Kept);
      for (const one of learn) keep(one);
      return { learn };
    },
    draw: (evenly) => {
      if (reservoirs.size === 0) return undefined;
      const all = [...reservoirs.values()];
      let chosen = all[random(all.length)];
      if (!evenly) {
        const seen = all.reduce((sum, one) => sum + one.seen, 0);
        let left = random(seen);
        chosen = all.find((one) => {
          left -= one.seen;
          return left < 0;
        });
      }
      return chosen?.kept[random(chosen.kept.length)];
    },
    drawHeldOut: () => {
      const rings = [...heldOut.values()].filter((ring) => ring.length > 0);
      const total = rings.reduce((sum, ring) => sum + ring.length, 0);
      if (total === 0) return undefined;
      let left = random(total);
      for (const ring of rings) {
        if (left < ring.length) return ring[left];
        left -= ring.length;
      }
      return undefined;
    },
    drop: (classIndex) => {
      for (const { rows } of reservoirs.get(classIndex)?.kept ?? []) features -= rows.length;
      reservoirs.delete(classIndex);
      heldOut.delete(classIndex);
    },
  };
}
