/** Collects the faults of a request, so that one error names them all. */

import type { Complete } from '@datahub/contract/complete';
import type { EngineName } from '@datahub/contract/engines';
import { type Bounds, faultOfLabel, pathLength, queryLimits } from '@datahub/contract/limits';
import { faultsOfSession, type SessionSettings, toSessionJson } from '@datahub/contract/session-settings';
import {
  faultsOfTransaction,
  parseTransaction,
  type StoredTransaction,
  textOfSteps,
  toTransactionJson,
  transactionCommand,
} from '@datahub/contract/transactions';
import type { FieldFault, FieldPath } from '@datahub/contract/validation-error';
import { fieldError, HubError } from '@datahub/service-kit/call/error';
import type { QueryDoc } from './documents.ts';

export interface Checker {
  fault(path: FieldPath, detail: string): void;
  /** Returns the label trimmed; see `faultOfLabel`. */
  label(path: FieldPath, text: string): string;
  text(path: FieldPath, text: string, bounds: Bounds): string;
  /** Returns undefined for an empty text, which stands for none. */
  path(path: FieldPath, text: string, pattern: RegExp): string | undefined;
  integer(path: FieldPath, value: number, bounds: Bounds): number;
  oneOf<T extends string>(path: FieldPath, value: string, allowed: readonly T[]): T;
  /** Throws VALIDATION if there was any fault. */
  done(): void;
}

export function createChecker(): Checker {
  const faults: FieldFault[] = [];
  const fault = (path: FieldPath, detail: string) => {
    faults.push({ path, detail });
  };
  return {
    fault,
    label: (path, text) => {
      const label = text.trim();
      const detail = faultOfLabel(label);
      if (detail !== undefined) fault(path, detail);
      return label;
    },
    text: (path, text, { min, max }) => {
      if (text.length < min || text.length > max) fault(path, `must have ${min} to ${max} characters`);
      if (text.includes('\0') || !text.isWellFormed()) fault(path, 'must be valid Unicode without NUL');
      return text;
    },
    path: (path, text, pattern) => {
      if (text === '') return undefined;
      const { min, max } = pathLength;
      if (text.length > max || !pattern.test(text))
        fault(path, `must have ${min} to ${max} characters and match ${pattern.source}`);
      return text;
    },
    integer: (path, value, { min, max }) => {
      if (!Number.isInteger(value) || value < min || value > max) {
        fault(path, `must be a whole number from ${min} to ${max}`);
      }
      return value;
    },
    oneOf: (path, value, allowed) => {
      const found = allowed.find((one) => one === value);
      if (found === undefined) fault(path, `must be one of ${allowed.join(', ')}`);
      return found ?? (allowed[0] as (typeof allowed)[number]);
    },
    done: () => {
      if (faults.length > 0) throw fieldError(faults);
    },
  };
}

interface Given {
  path: FieldPath;
  engine: EngineName;
}

/** Returns the session as it is stored; undefined for one that sets nothing. Throws OPTION_REFUSED for other engines. */
export function checkSession(
  check: Checker,
  json: string | undefined,
  { path, engine }: Given,
): string | undefined {
  if (json === undefined || json === '') return undefined;
  if (engine !== 'postgres')
    throw new HubError('OPTION_REFUSED', 'session is only for PostgreSQL. Leave it out.', {
      errors: [{ path, detail: 'must be left out, because the engine is not PostgreSQL' }],
      retryable: false,
    });
  const session = parseJson(json);
  const faults = faultsOfSession(session);
  for (const fault of faults) check.fault([...path, ...fault.path], fault.detail);
  return faults.length > 0 ? undefined : toSessionJson(session as SessionSettings);
}

/** Returns undefined for invalid JSON. The gateway sends only JSON, but other callers of the catalog may not. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns an empty object, with a fault, for text that is no JSON object. */
export function parseObject(check: Checker, path: FieldPath, text: string): object {
  const value = parseJson(text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  check.fault(path, 'must be a JSON object');
  return {};
}

const { textLength, commandLength } = queryLimits;
const isVerb = new RegExp(`^[A-Z]{${commandLength.min},${commandLength.max}}$`);

/** Returns the transaction as it is stored; undefined for a query of one statement. */
function checkTransaction(check: Checker, json: string | undefined, engine: EngineName): string | undefined {
  if (json === undefined || json === '') return undefined;
  if (engine === 'mongodb') {
    check.fault(['steps'], 'must be left out, because queries of MongoDB cannot be part of a transaction');
    return undefined;
  }
  const value = parseJson(json);
  const faults = faultsOfTransaction(value);
  for (const { path, detail } of faults) check.fault(path, detail);
  return faults.length > 0 ? undefined : toTransactionJson(value as StoredTransaction);
}

interface GivenStatement {
  engine: EngineName;
  /** Absent for a new query. */
  stored?: QueryDoc;
  sent: Partial<Pick<QueryDoc, 'command' | 'query' | 'transactionJson'>>;
}

/** The text and command of a transaction are derived from its steps. Others may be sent only if they are the same. */
export function checkStatementMembers(
  check: Checker,
  { engine, stored, sent }: GivenStatement,
): Complete<Pick<QueryDoc, 'command' | 'query' | 'transactionJson'>> {
  const json = sent.transactionJson ?? stored?.transactionJson ?? '';
  if (json === '')
    return {
      // What is stored need not fit the limits of today.
      command:
        sent.command === undefined && stored ? stored.command : checkCommand(check, sent.command ?? ''),
      query:
        sent.query === undefined && stored
          ? stored.query
          : check.text(['query'], sent.query ?? '', textLength),
      transactionJson: undefined,
    };
  const transactionJson = checkTransaction(check, json, engine);
  if (transactionJson === undefined) return { command: transactionCommand, query: '', transactionJson };
  const text = textOfSteps(parseTransaction(transactionJson).steps);
  if (sent.query && sent.query !== text)
    check.fault(['query'], 'must be left out, because the query has steps: change their texts');
  if (![transactionCommand, 'SELECT', undefined].includes(sent.command?.trim().toUpperCase()))
    check.fault(['command'], `must be left out or ${transactionCommand}, because the query has steps`);
  return { command: transactionCommand, query: check.text(['steps'], text, textLength), transactionJson };
}

function checkCommand(check: Checker, text: string): string {
  const command = text.trim().toUpperCase();
  if (!isVerb.test(command)) check.fault(['command'], 'must be one verb, such as SELECT or UPDATE');
  return command;
}
