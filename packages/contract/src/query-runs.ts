/** The records of executions: their forms and bounds. */

/** How a query was called; `execute` if it was called by none of the others. */
export const runForms = [
  'execute',
  'data',
  'rows',
  'transaction',
  'tool',
  'watch',
  'job',
  'console',
] as const;
export type RunForm = (typeof runForms)[number];

/**
 * An executor records so many successful runs of a query in each minute, and as many failed ones. The rest is only
 * counted, in the statistics.
 */
export const recordedPerMinute = 100;

/** The longest values, as JSON text of a call, that the record of a run keeps. */
export const keptValuesLengthMax = 4_096;
