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

interface Reservoir {
  /** Examples that were offered to it. */
  seen: number;
  kept: Kept[];
}

export interface MemoryState {
  random: number;
  /** By class index. */
  reservoirs: Map<number, Reservoir>;
  heldOut: Map<number, Kept[]>;
}

export interface Memory {
  /** Takes an example in; what the regression may learn now comes back: it, or what leaves the ring for it. */
  add(example: Kept, number: number): { learn: Kept[] };
  /** One kept example: of a class drawn evenly, or by how often each class was seen. */
  draw(evenly: boolean): Kept | undefined;
  /** One of the ring, of a class drawn by how often each was seen: what is rare is rare when it is asked for, too. */
  drawHeldOut(): Kept | undefined;
  drop(classIndex: number): void;
  /** Examples in the ring. */
  readonly heldOut: number;
  /** Features of all examples, kept and held out. */
  readonly features: number;
  readonly state: MemoryState;
}

const keptMax = 4_000;
const keptPerClassMin = 20;
/** Features of all kept examples together: 8 bytes each. Where classes are many, the least of each goes beyond it … */
const featuresMax = 1_000_000;
/** … up to here; the ring has a bound of its own. What is kept makes way for no longer example then. */
const featuresAtMost = 2_000_000;
const heldOutFeaturesMax = 1_000_000;
const heldOutMax = 400;
const heldOutPerClassMin = 2;
/** Often, so that the ring turns over and what is fitted to it has seen many, but never more of all, or of a class. */
const heldOutEvery = 3;
const heldOutShareMax = 0.08;
const heldOutShareOfClassMax = 0.16;
/** Not before: of few examples the regression needs every one. */
const heldOutFrom = 15;
/** Examples that leave the ring in one call, where a new class makes it smaller for all. */
const leavingMax = 4;

export function createMemory(from?: MemoryState): Memory {
  const state: MemoryState = from ?? { random: 0x2545f491, reservoirs: new Map(), heldOut: new Map() };
  const { reservoirs, heldOut } = state;
  /** Sums over the reservoirs. */
  const all = { seen: 0, kept: 0, features: 0, heldOut: 0 };
  let inOrder: Reservoir[] = [];

  const sumUp = (): void => {
    Object.assign(all, { seen: 0, kept: 0, features: 0, heldOut: 0 });
    inOrder = [...reservoirs.values()];
    for (const { seen, kept } of inOrder) {
      all.seen += seen;
      all.kept += kept.length;
      for (const { rows } of kept) all.features += rows.length;
    }
    for (const ring of heldOut.values()) for (const { rows } of ring) all.heldOut += rows.length;
  };
  sumUp();

  /** Marsaglia's xorshift, the same on every machine. */
  const random = (below: number): number => {
    let value = state.random;
    value ^= value << 13;
    value ^= value >>> 17;
    value ^= value << 5;
    state.random = value;
    return Math.floor(((value >>> 0) / 4_294_967_296) * below);
  };

  const reservoirOf = (classIndex: number): Reservoir => {
    const known = reservoirs.get(classIndex);
    if (known !== undefined) return known;
    const made: Reservoir = { seen: 0, kept: [] };
    reservoirs.set(classIndex, made);
    inOrder.push(made);
    return made;
  };

  const keep = (example: Kept): void => {
    const reservoir = reservoirOf(example.classIndex);
    const { kept } = reservoir;
    reservoir.seen++;
    all.seen++;
    const affordable = all.features > 0 ? Math.floor((featuresMax / all.features) * all.kept) : keptMax;
    const room = Math.max(keptPerClassMin, Math.floor(Math.min(keptMax, affordable) / reservoirs.size));
    while (kept.length > room) {
      all.features -= kept.pop()?.rows.length ?? 0;
      all.kept--;
    }
    const hasRoom = all.features + example.rows.length <= featuresAtMost;
    if (kept.length < room && hasRoom) {
      kept.push(example);
      all.features += example.rows.length;
      all.kept++;
      return;
    }
    const at = random(reservoir.seen);
    const old = kept[at];
    if (old === undefined || (!hasRoom && example.rows.length > old.rows.length)) return;
    all.features += example.rows.length - old.rows.length;
    kept[at] = example;
  };

  return {
    state,
    get heldOut() {
      let count = 0;
      for (const ring of heldOut.values()) count += ring.length;
      return count;
    },
    get features() {
      return all.features + all.heldOut;
    },
    add: (example, number) => {
      const isTurn = number >= heldOutFrom && number % heldOutEvery === heldOutFrom % heldOutEvery;
      if (!isTurn || all.heldOut + example.rows.length > heldOutFeaturesMax) {
        keep(example);
        return { learn: [example] };
      }
      const ring = heldOut.get(example.classIndex) ?? [];
      heldOut.set(example.classIndex, ring);
      ring.push(example);
      all.heldOut += example.rows.length;
      const share = Math.min(heldOutMax, heldOutShareMax * all.seen) / heldOut.size;
      const room = Math.max(heldOutPerClassMin, Math.floor(Math.min(share, heldOutShareOfClassMax * number)));
      const learn = ring.splice(0, Math.min(leavingMax, ring.length - room));
      for (const one of learn) {
        all.heldOut -= one.rows.length;
        keep(one);
      }
      return { learn };
    },
    draw: (evenly) => {
      if (evenly) return oneOf(inOrder[random(inOrder.length)]?.kept);
      let left = random(all.seen);
      for (const { seen, kept } of inOrder) {
        left -= seen;
        if (left < 0) return oneOf(kept);
      }
      return undefined;
    },
    drawHeldOut: () => {
      let seen = 0;
      for (const classIndex of heldOut.keys()) seen += reservoirs.get(classIndex)?.seen ?? 0;
      if (seen === 0) return undefined;
      let left = random(seen);
      for (const [classIndex, ring] of heldOut) {
        left -= reservoirs.get(classIndex)?.seen ?? 0;
        if (left < 0) return oneOf(ring);
      }
      return undefined;
    },
    drop: (classIndex) => {
      reservoirs.delete(classIndex);
      heldOut.delete(classIndex);
      sumUp();
    },
  };

  function oneOf(examples: Kept[] | undefined): Kept | undefined {
    return examples === undefined ? undefined : examples[random(examples.length)];
  }
}
