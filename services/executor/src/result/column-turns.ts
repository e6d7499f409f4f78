/** Lets other calls run while the columns of a wide result are read. */

import { turnFor } from '@datahub/service-kit/yield-to-loop';

/** What is computed for a column takes as long as so many short pieces. */
const piecesOfColumn = 4;
const columnsOfTurn = 500;

/** Waits for an own turn before work on all columns of a result. */
export const turnForResult = (columns: number): Promise<void> | undefined =>
  turnFor(piecesOfColumn * columns);

/** The same if they are read one by one: before the first, and again after some. */
export const turnForColumns = (read: number, columns: number): Promise<void> | undefined =>
  read % columnsOfTurn === 0 ? turnForResult(columns) : undefined;
