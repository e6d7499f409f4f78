/**
 * The examples that came from rows of a query, by their identity: classifier, query and id. Each takes 28 bytes in a
 * hash table, so that a million of them fit into memory with their classifier.
 */

import { type Digest, DigestTable, digestOf } from '@datahub/service-kit/digest-table';
import type { Pause } from '../scheduling/time-slices.ts';

export interface RowIdentity {
  queryId: string;
  id: string;
}

export interface RowDigests {
  identity: Digest;
  text: Digest;
}

/** The position of an example: the number of its event, and its index among the examples of all calls of the event. */
export interface Place {
  event: number;
  index: number;
}

/** Snapshots store it, so its members keep their names. */
export interface KnownExamplesState {
  /**
   * A slot has seven numbers: two of the identity, two of the text, two of the place (0 and 0 if it is not known), and
   * the number of the class plus one.
   */
  slots: Uint32Array;
  size: number;
  /** Of the table; absent in snapshots of versions without it. */
  seed?: number;
  classIds: string[];
}

/** The most such examples of one classifier. */
export const knownExamplesMax = 1_000_000;

const numbersPerSlot = 7;

/** Reads the state of a version without places, whose slots have five numbers. */
export function withoutPlaces(state: KnownExamplesState): KnownExamplesState {
  const count = state.slots.length / 5;
  const slots = new Uint32Array(count * numbersPerSlot);
  for (let i = 0; i < count; i++) {
    slots.set(state.slots.subarray(5 * i, 5 * i + 4), numbersPerSlot * i);
    slots[numbersPerSlot * (i + 1) - 1] = state.slots[5 * i + 4] ?? 0;
  }
  return { ...state, slots };
}

export interface KnownExample {
  classId: string;
  isSameText: boolean;
  /** Undefined if a version without places has learnt the row. */
  place: Place | undefined;
}

export function digestsOfRow({ queryId, id }: RowIdentity, text: string): RowDigests {
  return { identity: digestOf(JSON.stringify([queryId, id])), text: digestOf(text) };
}

export class KnownExamples {
  readonly #table: DigestTable;
  readonly #classIds: string[];
  readonly #numbers: Map<string, number>;

  constructor(state?: KnownExamplesState) {
    this.#table = new DigestTable(numbersPerSlot, state);
    this.#classIds = state?.classIds ?? [];
    this.#numbers = new Map(this.#classIds.map((classId, i) => [classId, i + 1]));
  }

  get size(): number {
    return this.#table.size;
  }

  get bytes(): number {
    return this.#table.state.slots.byteLength;
  }

  get state(): KnownExamplesState {
    return { ...this.#table.state, classIds: this.#classIds };
  }

  /** Returns what is known of the latest form of the example; undefined for an unknown example. */
  find({ identity, text }: RowDigests): KnownExample | undefined {
    const values = this.#table.find(identity);
    if (values === undefined) return undefined;
    const [first, second, event = 0, index = 0, classNumber = 0] = values;
    const isSameText = first === text[0] && second === text[1];
    const place = event === 0 ? undefined : { event, index };
    return { classId: this.#classIds[classNumber - 1] ?? '', isSameText, place };
  }

  set({ identity, text }: RowDigests, classId: string, { event, index }: Place): void {
    const classNumber = this.#numbers.get(classId) ?? this.#classIds.push(classId);
    this.#numbers.set(classId, classNumber);
    this.#table.set(identity, ...text, event, index, classNumber);
  }

  /** Removes the examples of a class. */
  async forget(classId: string, pause: Pause): Promise<void> {
    const classNumber = this.#numbers.get(classId);
    if (classNumber !== undefined) await this.#table.filter((values) => values[4] !== classNumber, pause);
  }

  /** Makes room for so many further examples, so that adding them takes little time each. */
  reserve(count: number, pause: Pause): Promise<void> {
    return this.#table.reserve(count, pause);
  }
}
