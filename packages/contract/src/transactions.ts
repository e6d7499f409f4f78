/** Transactions of several queries: what the gateway, the executor and the engines agree on. */

/** As in SQL, with hyphens. */
export const isolations = ['read-committed', 'repeatable-read', 'serializable'] as const;
export type Isolation = (typeof isolations)[number];

export const isIsolation = (text: string): text is Isolation => isolations.some((one) => one === text);

export const isolationSql = (isolation: Isolation): string =>
  `ISOLATION LEVEL ${isolation.replace('-', ' ').toUpperCase()}`;

export const transactionBounds = {
  steps: { min: 1, max: 20 },
  nameLength: { min: 1, max: 64 },
  references: { min: 0, max: 50 },
  pointerLength: { min: 1, max: 1_000 },
  /** The answers of all steps, which are held until COMMIT. */
  answerBytes: 4 * 1_048_576,
  /** Of a step whose rows a reference can name. */
  referencedRows: 1_000,
  /** A transaction is repeated so often after a serialization failure or a deadlock. */
  repeats: 3,
} as const;

export const stepNamePattern = '^[A-Za-z_][A-Za-z0-9_]{0,63}$';
