/** Transactions of several queries: what the gateway, the catalog, the executor and the engines agree on. */

import type { FieldFault, FieldPath } from './validation-error.ts';

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

/** The command of a stored query that has steps. */
export const transactionCommand = 'TRANSACTION';

export interface StoredStep {
  query: string;
  /** SELECT by default. */
  command?: string;
  as?: string;
  options?: { maxRows?: number; maxAffected?: number; expectRows?: number };
  references?: Record<string, { from: string; pointer: string }>;
}

/** A stored query that runs several statements in one transaction. */
export interface StoredTransaction {
  steps: StoredStep[];
  isolation?: Isolation;
  retry?: boolean;
}

/** What is said of a step. */
export const inStep = (step: number, detail: string): string => `Step ${step}: ${detail}`;

/** The text of the whole, which lists and searches show. It does not compile as one statement. */
export const textOfSteps = (steps: readonly Pick<StoredStep, 'query'>[]): string =>
  steps.map(({ query }) => query).join(';\n');

export const parseTransaction = (json: string): StoredTransaction => JSON.parse(json) as StoredTransaction;

/** JSON with its members in one order, so that equal transactions have equal texts. */
export function toTransactionJson({ steps, isolation, retry }: StoredTransaction): string {
  const ordered = steps.map(({ query, command, as, options, references = {} }): StoredStep => {
    const { maxRows, maxAffected, expectRows } = options ?? {};
    const names = Object.keys(references).sort();
    const taken = names.map((name) => {
      const { from = '', pointer = '' } = references[name] ?? {};
      return [name, { from, pointer }] as const;
    });
    const has = [maxRows, maxAffected, expectRows].some((one) => one !== undefined);
    return {
      query,
      command: command?.trim().toUpperCase(),
      as,
      options: has ? { maxRows, maxAffected, expectRows } : undefined,
      references: names.length === 0 ? undefined : Object.fromEntries(taken),
    };
  });
  return JSON.stringify({ steps: ordered, isolation, retry: retry === true ? true : undefined });
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isStepName = new RegExp(stepNamePattern);
const countMax = 4_294_967_295;

/** The faults in the form of a stored transaction, apart from the statements of its steps. */
export function faultsOfTransaction(value: unknown): FieldFault[] {
  const faults: FieldFault[] = [];
  const fault = (detail: string, ...path: FieldPath) => faults.push({ path, detail });
  const { steps, isolation, retry } = isObject(value) ? value : {};
  if (isolation !== undefined && !(typeof isolation === 'string' && isIsolation(isolation)))
    fault(`must be one of ${isolations.join(', ')}`, 'isolation');
  if (retry !== undefined && typeof retry !== 'boolean') fault('must be true or false', 'retry');
  const { min, max } = transactionBounds.steps;
  if (!Array.isArray(steps) || steps.length < min || steps.length > max) {
    fault(`must be a list of ${min} to ${max} steps`, 'steps');
    return faults;
  }
  const before = new Set<unknown>();
  steps.forEach((step: unknown, i) => {
    faultsOfStep(step, before, (detail, ...path) => fault(detail, 'steps', i, ...path));
    if (isObject(step) && step.as !== undefined) before.add(step.as);
  });
  return faults;
}

function faultsOfStep(
  step: unknown,
  before: ReadonlySet<unknown>,
  fault: (detail: string, ...path: FieldPath) => void,
): void {
  if (!isObject(step)) {
    fault('must be an object');
    return;
  }
  const { query, command, as, options = {}, references = {} } = step;
  if (typeof query !== 'string' || query.trim() === '') fault('must be the text of a statement', 'query');
  if (command !== undefined && typeof command !== 'string') fault('must be a verb', 'command');
  if (as !== undefined && !(typeof as === 'string' && isStepName.test(as)))
    fault('must be a letter or underscore, then up to 63 letters, digits or underscores', 'as');
  else if (as !== undefined && before.has(as)) fault('is already the name of another step', 'as');
  if (!isObject(options)) fault('must be an object', 'options');
  else
    for (const name of ['maxRows', 'maxAffected', 'expectRows']) {
      const count = options[name];
      const isCount = Number.isInteger(count) && Number(count) >= 0 && Number(count) <= countMax;
      if (count !== undefined && !isCount) fault('must be a whole number', 'options', name);
    }
  if (!isObject(references) || Object.keys(references).length > transactionBounds.references.max)
    fault(`must be an object of at most ${transactionBounds.references.max} members`, 'references');
  else faultsOfReferences(references, before, fault);
}

function faultsOfReferences(
  references: object,
  before: ReadonlySet<unknown>,
  fault: (detail: string, ...path: FieldPath) => void,
): void {
  for (const [name, one] of Object.entries(references)) {
    const { from, pointer } = isObject(one) ? one : {};
    if (!before.has(from)) fault('must name an earlier step in from', 'references', name);
    if (typeof pointer !== 'string' || pointer === '' || pointer.length > transactionBounds.pointerLength.max)
      fault('must have a JSON pointer, such as /data/0/id', 'references', name);
  }
}
