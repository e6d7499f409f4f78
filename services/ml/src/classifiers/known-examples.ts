/**
 * The examples that came from rows of a query, by their identity: classifier, query and id. Each takes 20 bytes in a
 * hash table, so that a million of them fit into memory with their classifier.
 */

import { type Digest, DigestTable, digestOf } from '@datahub/service-kit/digest-table';

export interface RowIdentity {
  queryId: string;
  id: string;
}

export interface RowDigests {
  identity: Digest;
  text: Digest;
}

/** Snapshots store it, so its members keep their names. */
export interface KnownExamplesState {
  /** A slot has five numbers: two of the identity, two of the text, and the number of the class plus one. */
  slots: Uint32Array;
  size: number;
  classIds: string[];
}

/** The most such examples of one classifier. */
export const knownExamplesMax = 1_000_000;

const numbersPerSlot = 5;

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
    return this.#table.slots.byteLength;
  }

  get state(): KnownExamplesState {
    return { slots: this.#table.slots, size: this.size, classIds: this.#classIds };
  }

  /** Returns the class of the example and whether its text is the same; undefined for an unknown example. */
  find({ identity, text }: RowDigests): { classId: string; isSameText: boolean } | undefined {
    const values = this.#table.find(identity);
    if (values === undefined) return undefined;
    const [first, second, classNumber = 0] = values;
    const isSameText = first === text[0] && second === text[1];
    return { classId: this.#classIds[classNumber - 1] ?? '', isSameText };
  }

  set({ identity, text }: RowDigests, classId: string): void {
    const classNumber = this.#numbers.get(classId) ?? this.#classIds.push(classId);
    this.#numbers.set(classId, classNumber);
    this.#table.set(identity, ...text, classNumber);
  }

  /** Removes the examples of a class. */
  forget(classId: string): void {
    const classNumber = this.#numbers.get(classId);
    if (classNumber !== undefined) this.#table.filter((values) => values[2] !== classNumber);
  }
}
