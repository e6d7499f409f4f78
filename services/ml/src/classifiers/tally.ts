/** Counts predictions by class. Precision, recall and the confusion matrix are computed from the counts. */

/** Snapshots store it, so its members keep their names. */
export interface TallyState {
  examples: number;
  correct: number;
  classes: Map<string, ClassTally>;
  /** Counts by the class of the example, then by the wrong class that was predicted. */
  confusions: Map<string, Map<string, number>>;
}

interface ClassTally {
  /** The number of examples of the class. */
  support: number;
  /** The number of examples, of any class, for which this class was predicted. */
  predicted: number;
  correct: number;
}

export interface ClassFigures {
  classId: string;
  support: number;
  /** Undefined if the class was never predicted. */
  precision: number | undefined;
  /** Undefined if the class has no examples. */
  recall: number | undefined;
}

export interface Confusion {
  /** The largest classes, most examples first. */
  classIds: string[];
  /** A row for each class of an example, a column for each predicted class, in the order of `classIds`. */
  counts: number[][];
}

export interface Tally {
  record(classId: string, predictedId: string): void;
  /** Leaves out the examples of this class. */
  forget(classId: string): void;
  readonly figures: {
    accuracy: number | undefined;
    /** The classes with an example or a prediction, most examples first. */
    classes: ClassFigures[];
    confusion: Confusion;
  };
  readonly state: TallyState;
  /** Approximate memory in bytes. */
  readonly size: number;
}

const confusionClassesMax = 20;
/** The most pairs of confused classes. Only a classifier with more than 256 classes can have more. */
const pairsMax = 65_536;
/** If there are more pairs, only those among this many largest classes are kept, at most 40,000. */
const classesKept = 200;
const bytesPerPair = 64;
const bytesPerClass = 160;

export const emptyTally = (): TallyState => ({
  examples: 0,
  correct: 0,
  classes: new Map(),
  confusions: new Map(),
});

export function createTally(state: TallyState = emptyTally()): Tally {
  const { classes, confusions } = state;
  let pairs = countPairs(confusions);
  const bySize = () =>
    [...classes].sort(([a, one], [b, other]) => other.support - one.support || (a < b ? -1 : 1));
  const largest = (count: number, sorted = bySize()) =>
    sorted.slice(0, count).flatMap(([classId, { support }]) => (support > 0 ? [classId] : []));
  const confusionOf = (classIds: string[]): Confusion => {
    const countOf = (classId: string, predictedId: string) =>
      classId === predictedId
        ? (classes.get(classId)?.correct ?? 0)
        : (confusions.get(classId)?.get(predictedId) ?? 0);
    const counts = classIds.map((classId) => classIds.map((predicted) => countOf(classId, predicted)));
    return { classIds, counts };
  };
  const confuse = (classId: string, predictedId: string) => {
    const row = entryOf(confusions, classId, () => new Map<string, number>());
    if (!row.has(predictedId)) pairs += 1;
    row.set(predictedId, (row.get(predictedId) ?? 0) + 1);
    if (pairs <= pairsMax) return;
    keepPairsOf(confusions, new Set(largest(classesKept)));
    pairs = countPairs(confusions);
  };
  return {
    record: (classId, predictedId) => {
      const own = entryOf(classes, classId, emptyClass);
      state.examples += 1;
      own.support += 1;
      entryOf(classes, predictedId, emptyClass).predicted += 1;
      if (predictedId !== classId) return confuse(classId, predictedId);
      state.correct += 1;
      own.correct += 1;
    },
    forget: (classId) => {
      const own = classes.get(classId);
      if (own === undefined) return;
      state.examples -= own.support;
      state.correct -= own.correct;
      classes.delete(classId);
      for (const [predictedId, count] of confusions.get(classId) ?? []) {
        const other = classes.get(predictedId);
        if (other !== undefined) other.predicted -= count;
      }
      confusions.delete(classId);
      for (const row of confusions.values()) row.delete(classId);
      pairs = countPairs(confusions);
    },
    get figures() {
      const sorted = bySize();
      return {
        accuracy: ratio(state.correct, state.examples),
        classes: sorted.map(([classId, { support, predicted, correct }]) => ({
          classId,
          support,
          precision: ratio(correct, predicted),
          recall: ratio(correct, support),
        })),
        confusion: confusionOf(largest(confusionClassesMax, sorted)),
      };
    },
    state,
    get size() {
      return bytesPerPair * pairs + bytesPerClass * classes.size;
    },
  };
}

const emptyClass = (): ClassTally => ({ support: 0, predicted: 0, correct: 0 });

function entryOf<T>(map: Map<string, T>, key: string, create: () => T): T {
  const known = map.get(key);
  if (known !== undefined) return known;
  const created = create();
  map.set(key, created);
  return created;
}

function keepPairsOf(confusions: Map<string, Map<string, number>>, kept: Set<string>): void {
  for (const [classId, row] of confusions) {
    for (const predictedId of row.keys()) if (!kept.has(predictedId)) row.delete(predictedId);
    if (!kept.has(classId)) confusions.delete(classId);
  }
}

function countPairs(confusions: Map<string, Map<string, number>>): number {
  let count = 0;
  for (const row of confusions.values()) count += row.size;
  return count;
}

const ratio = (part: number, whole: number) => (whole === 0 ? undefined : part / whole);
