/** Filters as the conditions of statements. */

import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { CheckedFilter } from '../filter.ts';
import { fieldColumn } from './schema.ts';

/** Prepares each text once. Texts contain only declared names, so their number is bounded. */
export type Prepare = (sql: string) => StatementSync;

export function createPrepare(db: DatabaseSync): Prepare {
  const cache = new Map<string, StatementSync>();
  return (sql) => {
    const known = cache.get(sql);
    if (known !== undefined) return known;
    const statement = db.prepare(sql);
    statement.setReturnArrays(true);
    cache.set(sql, statement);
    return statement;
  };
}

interface Bound {
  operator: '>' | '>=' | '<' | '<=';
  id: string;
}

/** One lower and one upper bound: with two of a kind, SQLite may seek to one and scan up to the other. */
export interface Range {
  accountId: string;
  where: CheckedFilter['where'];
  lower: Bound | undefined;
  upper: Bound | undefined;
}

export function toRange({ accountId, where, from, after, before }: CheckedFilter): Range {
  const bound = (operator: Bound['operator'], id: string | undefined) =>
    id === undefined ? undefined : { operator, id };
  return { accountId, where, lower: bound('>', after) ?? bound('>=', from), upper: bound('<', before) };
}

/** The part of a range up to an id in an order of ids, with that id. */
export const upTo = (range: Range, id: string, descending: boolean): Range =>
  descending ? { ...range, lower: { operator: '>=', id } } : { ...range, upper: { operator: '<=', id } };

/** The part of a range after an id in an order of ids. */
export const beyond = (range: Range, id: string, descending: boolean): Range =>
  descending ? { ...range, upper: { operator: '<', id } } : { ...range, lower: { operator: '>', id } };

export function isWithin({ lower, upper }: Pick<Range, 'lower' | 'upper'>, id: string): boolean {
  const isAbove = lower === undefined || (lower.operator === '>' ? id > lower.id : id >= lower.id);
  return isAbove && (upper === undefined || (upper.operator === '<' ? id < upper.id : id <= upper.id));
}

export const namesOf = ({ where }: Pick<Range, 'where'>): string[] => where.map(({ name }) => name);

export interface Condition {
  sql: string;
  values: SQLInputValue[];
}

export function toCondition({ accountId, where, lower, upper }: Range): Condition {
  const parts = ['account_id = ?'];
  const values: SQLInputValue[] = [accountId];
  for (const { name, value } of where) {
    parts.push(value === null ? `${fieldColumn(name)} IS NULL` : `${fieldColumn(name)} = ?`);
    if (value !== null) values.push(value);
  }
  for (const bound of [lower, upper]) {
    if (bound === undefined) continue;
    parts.push(`id ${bound.operator} ?`);
    values.push(bound.id);
  }
  return { sql: parts.join(' AND '), values };
}
