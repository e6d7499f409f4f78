/**
 * The examples that came from rows of a query, by their identity: classifier, query and id. Each takes 20 bytes in a
 * hash table, so that a million of them fit into memory with their classifier.
 */

import { hash } from 'node:crypto';

export interface RowIdentity {
  queryId: string;
  id: string;
}

/** Two hashes of 64 bits. */
export interface RowHashes {
  identity: readonly [number, number];
  text: readonly [number, number];
}

/** Snapshots store it, so its members keep their names. */
export interface KnownExamplesState {
  slots: Uint32Array;
  size: number;
  classIds: string[];
}

/** The most such examples of one classifier. */
export const knownExamplesMax = 1_000_000;

/**
 * A slot has two words of identity, two of text, and the number of the class plus one. In a free slot the last is 0.
 */
const wordsPerSlot = 5;
const slotsMin = 64;
/** The share of slots that may be taken. */
const loadMax = 0.6;

export function hashRow({ queryId, id }: RowIdentity, text: string): RowHashes {
  return { identity: words(JSON.stringify([queryId, id])), text: words(text) };
}

function words(text: string): [number, number] {
  const digest = hash('sha256', text, 'buffer');
  return [digest.readUInt32LE(0), digest.readUInt32LE(4)];
}

export class KnownExamples {
  #slots: Uint32Array;
  #size: number;
  readonly #classIds: string[];
  readonly #numbers: Map<string, number>;

  constructor(state?: KnownExamplesState) {
    this.#slots = state?.slots.slice() ?? new Uint32Array(slotsMin * wordsPerSlot);
    this.#size = state?.size ?? 0;
    this.#classIds = state?.classIds ?? [];
    this.#numbers = new Map(this.#classIds.map((classId, i) => [classId, i + 1]));
  }

  get size(): number {
    return this.#size;
  }

  get bytes(): number {
    return this.#slots.byteLength;
  }

  get state(): KnownExamplesState {
    return { slots: this.#slots, size: this.#size, classIds: this.#classIds };
  }

  /** Returns the class of the example and whether its text is the same; undefined for an unknown example. */
  find({ identity, text }: RowHashes): { classId: string; isSameText: boolean } | undefined {
    const at = this.#slotOf(this.#slots, identity);
    const classNumber = this.#slots[at + 4] as number;
    if (classNumber === 0) return undefined;
    const isSameText = this.#slots[at + 2] === text[0] && this.#slots[at + 3] === text[1];
    return { classId: this.#classIds[classNumber - 1] ?? '', isSameText };
  }

  set({ identity, text }: RowHashes, classId: string): void {
    const classNumber = this.#numbers.get(classId) ?? this.#classIds.push(classId);
    this.#numbers.set(classId, classNumber);
    let at = this.#slotOf(this.#slots, identity);
    if (this.#slots[at + 4] === 0 && ++this.#size * wordsPerSlot > this.#slots.length * loadMax) {
      this.#slots = this.#copy(2 * this.#slots.length, () => true);
      at = this.#slotOf(this.#slots, identity);
    }
    this.#slots.set([...identity, ...text, classNumber], at);
  }

  /** Removes the examples of a class. */
  forget(classId: string): void {
    const classNumber = this.#numbers.get(classId);
    if (classNumber === undefined) return;
    let removed = 0;
    this.#slots = this.#copy(this.#slots.length, (own) => {
      if (own === classNumber) removed++;
      return own !== classNumber;
    });
    this.#size -= removed;
  }

  #copy(length: number, keeps: (classNumber: number) => boolean): Uint32Array {
    const slots = new Uint32Array(length);
    for (let at = 0; at < this.#slots.length; at += wordsPerSlot) {
      const [first = 0, second = 0, , , classNumber = 0] = this.#slots.subarray(at, at + wordsPerSlot);
      if (classNumber === 0 || !keeps(classNumber)) continue;
      slots.set(this.#slots.subarray(at, at + wordsPerSlot), this.#slotOf(slots, [first, second]));
    }
    return slots;
  }

  /** Returns the slot of an identity, or the free slot where it would be. */
  #slotOf(slots: Uint32Array, [first, second]: readonly [number, number]): number {
    const count = slots.length / wordsPerSlot;
    let at = (first % count) * wordsPerSlot;
    while (slots[at + 4] !== 0 && (slots[at] !== first || slots[at + 1] !== second)) {
      at += wordsPerSlot;
      if (at === slots.length) at = 0;
    }
    return at;
  }
}
