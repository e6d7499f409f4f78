/**
 * Stores earlier examples: per class, a reservoir for replays (Vitter, ACM TOMS 11, 1985), and a ring of examples that
 * are held out for calibration.
 */

import type { EncodedExample, VectorExample } from './model.ts';

interface Reservoir {
  /** The number of examples that were offered to the reservoir. */
  seen: number;
  kept: EncodedExample[];
}

/** Snapshots store it, so its members keep their names. */
export interface ReplayBufferState {
  random: number;
  /** By class index. */
  reservoirs: Map<number, Reservoir>;
  heldOut: Map<number, VectorExample[]>;
}

/** A row and a weight. */
const bytesPerFeature = 8;
/** What an example takes beside its features and its vector: objects, and the buffers of two arrays. */
const bytesPerExample = 450;
const keptMax = 4_000;
const keptPerClassMin = 20;
/** Features in the reservoirs, 8 bytes each. With many classes, `keptPerClassMin` may exceed this bound. */
const featuresMax = 1_000_000;
/** The bound with many classes. At this bound, an example only replaces one that is at least as long. */
const featuresAtMost = 2_000_000;
const heldOutFeaturesMax = 1_000_000;
const heldOutMax = 400;
const heldOutPerClassMin = 2;
/** Every third example is held out for a while, so that calibration uses many different ones. */
const heldOutEvery = 3;
const heldOutShareMax = 0.08;
const heldOutShareOfClassMax = 0.16;
/** The number of examples of a class from which some are held out. Before, the regression needs them all. */
const heldOutFrom = 15;
/**
 * The most examples that leave a ring in one call. A new class makes every ring smaller, so without this limit one call
 * could remove many.
 */
const leavingMax = 4;

export class ReplayBuffer {
  readonly state: ReplayBufferState;
  #seen = 0;
  #kept = 0;
  #features = 0;
  #heldOutFeatures = 0;
  #heldOutBytes = 0;
  /** In the order in which the classes first appeared. */
  #reservoirs: Reservoir[] = [];

  constructor(from?: ReplayBufferState) {
    this.state = from ?? { random: 0x2545f491, reservoirs: new Map(), heldOut: new Map() };
    this.#computeTotals();
  }

  /** The number of held-out examples. */
  get heldOutCount(): number {
    let count = 0;
    for (const ring of this.state.heldOut.values()) count += ring.length;
    return count;
  }

  /** Approximate memory in bytes. */
  get size(): number {
    const features = this.#features + this.#heldOutFeatures;
    return bytesPerFeature * features + bytesPerExample * this.#kept + this.#heldOutBytes;
  }

  /**
   * Adds an example. `number` counts the examples of its class, starting at 1. Returns the examples that the regression
   * may learn now: this one, or those that leave the ring because of it.
   */
  add({ example, vector }: VectorExample, number: number): EncodedExample[] {
    const isHeldOut = number >= heldOutFrom && number % heldOutEvery === heldOutFrom % heldOutEvery;
    if (!isHeldOut || this.#heldOutFeatures + example.rows.length > heldOutFeaturesMax) {
      this.#addToReservoir(example);
      return [example];
    }
    const { heldOut } = this.state;
    const ring = heldOut.get(example.classIndex) ?? [];
    heldOut.set(example.classIndex, ring);
    ring.push({ example, vector });
    this.#heldOutFeatures += example.rows.length;
    this.#heldOutBytes += bytesPerExample + vector.byteLength;
    const share = Math.min(heldOutMax, heldOutShareMax * this.#seen) / heldOut.size;
    const room = Math.max(heldOutPerClassMin, Math.floor(Math.min(share, heldOutShareOfClassMax * number)));
    const leaving = ring.splice(0, Math.min(leavingMax, ring.length - room));
    for (const one of leaving) {
      this.#heldOutFeatures -= one.example.rows.length;
      this.#heldOutBytes -= bytesPerExample + one.vector.byteLength;
      this.#addToReservoir(one.example);
    }
    return leaving.map((one) => one.example);
  }

  /** Returns a random example from the reservoirs. Its class is drawn evenly, or in proportion to the examples seen. */
  draw(evenly: boolean): EncodedExample | undefined {
    if (evenly) return this.#randomOf(this.#reservoirs[this.#random(this.#reservoirs.length)]?.kept);
    let left = this.#random(this.#seen);
    for (const { seen, kept } of this.#reservoirs) {
      left -= seen;
      if (left < 0) return this.#randomOf(kept);
    }
    return undefined;
  }

  /**
   * Returns a random held-out example. Its class is drawn in proportion to the examples seen, so rare classes stay
   * rare.
   */
  drawHeldOut(): VectorExample | undefined {
    const { heldOut, reservoirs } = this.state;
    let seen = 0;
    for (const classIndex of heldOut.keys()) seen += reservoirs.get(classIndex)?.seen ?? 0;
    if (seen === 0) return undefined;
    let left = this.#random(seen);
    for (const [classIndex, ring] of heldOut) {
      left -= reservoirs.get(classIndex)?.seen ?? 0;
      if (left < 0) return this.#randomOf(ring);
    }
    return undefined;
  }

  drop(classIndex: number): void {
    this.state.reservoirs.delete(classIndex);
    this.state.heldOut.delete(classIndex);
    this.#computeTotals();
  }

  #addToReservoir(example: EncodedExample): void {
    const reservoir = this.#reservoirOf(example.classIndex);
    const { kept } = reservoir;
    reservoir.seen++;
    this.#seen++;
    const affordable = this.#features > 0 ? Math.floor((featuresMax / this.#features) * this.#kept) : keptMax;
    const share = Math.min(keptMax, affordable) / this.#reservoirs.length;
    const room = Math.max(keptPerClassMin, Math.floor(share));
    while (kept.length > room) {
      this.#features -= kept.pop()?.rows.length ?? 0;
      this.#kept--;
    }
    const hasRoom = this.#features + example.rows.length <= featuresAtMost;
    if (kept.length < room && hasRoom) {
      kept.push(example);
      this.#features += example.rows.length;
      this.#kept++;
      return;
    }
    const at = this.#random(reservoir.seen);
    const old = kept[at];
    if (old === undefined || (!hasRoom && example.rows.length > old.rows.length)) return;
    this.#features += example.rows.length - old.rows.length;
    kept[at] = example;
  }

  #reservoirOf(classIndex: number): Reservoir {
    const known = this.state.reservoirs.get(classIndex);
    if (known !== undefined) return known;
    const created: Reservoir = { seen: 0, kept: [] };
    this.state.reservoirs.set(classIndex, created);
    this.#reservoirs.push(created);
    return created;
  }

  #computeTotals(): void {
    const { reservoirs, heldOut } = this.state;
    this.#reservoirs = [...reservoirs.values()];
    [this.#seen, this.#kept, this.#features, this.#heldOutFeatures, this.#heldOutBytes] = [0, 0, 0, 0, 0];
    for (const { seen, kept } of this.#reservoirs) {
      this.#seen += seen;
      this.#kept += kept.length;
      for (const { rows } of kept) this.#features += rows.length;
    }
    for (const ring of heldOut.values())
      for (const { example, vector } of ring) {
        this.#heldOutFeatures += example.rows.length;
        this.#heldOutBytes += bytesPerExample + vector.byteLength;
      }
  }

  #randomOf<T>(examples: T[] | undefined): T | undefined {
    return examples === undefined ? undefined : examples[this.#random(examples.length)];
  }

  /** Marsaglia's xorshift: the same numbers on every machine. */
  #random(below: number): number {
    let value = this.state.random;
    value ^= value << 13;
    value ^= value >>> 17;
    value ^= value << 5;
    this.state.random = value;
    return Math.floor(((value >>> 0) / 4_294_967_296) * below);
  }
}
