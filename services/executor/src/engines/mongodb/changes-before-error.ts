/** What a write of MongoDB has changed when it fails. Nothing is rolled back, and not all of it is counted. */

import type { Document } from 'mongodb';

export interface ChangesBeforeError {
  /** The documents that the server counted. */
  counted: number;
  /** False if the server may have changed others. */
  areAll: boolean;
}

export const noChanges: ChangesBeforeError = { counted: 0, areAll: true };

/** The codes of errors that are found before the first document is changed: in the command itself, and in the rights. */
const foundFirst = {
  ofPart: new Set([9, 13]),
  ofCommand: new Set([2, 9, 13, 14, 26, 40, 52, 59, 72, 73, 115, 238, 10107, 13435, 13436]),
};

const partsOf = ({ documents, updates, deletes }: Document): Document[] =>
  documents ?? updates ?? deletes ?? [];

/** True for a part of an `update` or `delete` that changes all documents that match. */
function changesMany({ updates, deletes }: Document, part: Document | undefined): boolean {
  if (updates !== undefined) return part?.multi !== undefined && part.multi !== false;
  return deletes !== undefined && Number(part?.limit) !== 1;
}

/** True for a write to one document, which MongoDB makes atomically. */
export function isAtomic(command: Document): boolean {
  const [first, ...more] = partsOf(command);
  return first !== undefined && more.length === 0 && !changesMany(command, first);
}

/**
 * For a reply with `writeErrors`. MongoDB counts a part that changes many documents and fails in the middle as none.
 * FerretDB counts nothing, and gives each error the index 0.
 */
export function changesOf(command: Document, { n, writeErrors }: Document): ChangesBeforeError {
  if (n === undefined) return { counted: 0, areAll: isAtomic(command) };
  const parts = partsOf(command);
  const areAll = (writeErrors as Document[]).every(
    ({ index, code }) => foundFirst.ofPart.has(Number(code)) || !changesMany(command, parts[Number(index)]),
  );
  return { counted: Number(n), areAll };
}

/** For a command that failed as a whole. */
export const changesOfFailed = (command: Document, code: unknown): ChangesBeforeError => ({
  counted: 0,
  areAll: isAtomic(command) || foundFirst.ofCommand.has(Number(code)),
});
