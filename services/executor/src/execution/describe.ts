/** Describes a query at its source: its columns and its variables. */

import type { JsonType } from '@datahub/contract/json-types';
import type { DescribedVariable, DescribeQueryResponse } from '@datahub/proto/executor/v1/executor';
import type { HubError } from '@datahub/service-kit/call/error';
import { turnForText } from '@datahub/service-kit/yield-to-loop';
import type { ColumnFacts } from '@datahub/statement/compile';
import type { QueryDefinition } from '../definitions/definition.ts';
import type { ColumnKind } from '../ports/column-kind.ts';
import type { DescribedColumn, Signature } from '../ports/engine.ts';
import { uniqueNames } from '../result/column-names.ts';
import { jsonTypeOf } from '../result/values/json-values.ts';
import { toFailure } from './execution-error.ts';
import type { DescribableForm, PreparedQuery, PreparedStep } from './prepare.ts';
import { ofStep } from './transactions/step-error.ts';

interface DescribeDeps {
  describe(form: DescribableForm): Promise<Signature>;
  /** The wall-clock time. */
  nowMs: () => number;
}

/** Describes each step. The columns are those of the last one, the variables those of all that callers set. */
export async function describeTransaction(
  steps: readonly PreparedStep[],
  query: Pick<QueryDefinition, 'version' | 'notNull'>,
  deps: DescribeDeps,
): Promise<DescribeQueryResponse> {
  const variables = new Map<string, DescribedVariable>();
  let last: DescribeQueryResponse | undefined;
  for (const [i, { stored, prepared }] of steps.entries()) {
    last = await describeQuery(prepared, query, deps).catch((err) => {
      throw ofStep(err, i);
    });
    for (const one of last.variables) {
      const before = variables.get(one.key);
      if (Object.hasOwn(stored.references ?? {}, one.key)) continue;
      // Steps that expect different types leave it open which one a caller sends.
      const isOther = before !== undefined && (before.type !== one.type || before.list !== one.list);
      variables.set(one.key, isOther ? { ...before, type: undefined, list: false, labels: undefined } : one);
    }
  }
  return { ...(last as DescribeQueryResponse), variables: [...variables.values()] };
}

/** Describes the first form that the source accepts. If it accepts none, throws its error for the most likely form. */
export async function describeQuery(
  prepared: PreparedQuery,
  { version, notNull }: Pick<QueryDefinition, 'version' | 'notNull'>,
  { describe, nowMs }: DescribeDeps,
): Promise<DescribeQueryResponse> {
  let refused: HubError | undefined;
  for (const form of prepared.describable()) {
    try {
      const signature = await describe(form);
      await turnForText(form.text.length);
      const variables = prepared.variables(signature, form);
      return {
        columns: toColumns(signature, prepared.columnFacts(), { notNull, variables }),
        variables,
        checkedAt: new Date(nowMs()).toISOString(),
        version,
      };
    } catch (err) {
      const failure = toFailure(err, 'prepare', {
        mapLocation: (fault) => prepared.mapLocation(fault, form),
        redactMessage: prepared.nameVariables,
      });
      // Only a permanent rejection says something about the statement.
      if (failure.code !== 'SQL_REJECTED' || failure.retryable) throw failure;
      refused ??= failure;
    }
  }
  throw refused;
}

/** A document can be the JSON null, and the zero dates of MySQL and MariaDB are null in answers. */
const kindsWithNull = new Set<ColumnKind['is']>(['json', 'date', 'timestamp']);

/** Numbers duplicate column names, as answers do. */
function toColumns(
  { columns, redefined = new Set() }: Signature,
  { keepsNotNull, keptTables, kept, neverNull, variables, computed = [], functions }: ColumnFacts,
  known: { notNull: readonly string[]; variables: readonly DescribedVariable[] },
) {
  const asserted = new Set(known.notNull);
  const names = uniqueNames(columns.map(({ name }) => name));
  const isAligned = (facts: readonly unknown[]) => facts.length === columns.length;
  const isKept = ({ table = '' }: DescribedColumn, i: number) =>
    keepsNotNull || keptTables.has(table.toLowerCase()) || (isAligned(kept) && kept[i] === true);
  const isProven = ![...functions].some((name) => redefined.has(name));
  const isNeverNull = ({ kind }: DescribedColumn, i: number) =>
    isProven && isAligned(neverNull) && neverNull[i] === true && !kindsWithNull.has(kind.is);
  const typeOf = ({ isUntyped, kind }: DescribedColumn, i: number): JsonType => {
    if (isUntyped === 'computed' || isUntyped === 'alone') {
      const found = isAligned(computed) ? computed[i] : false;
      return found === 'alone' || (found && isUntyped === 'computed') ? 'number|string' : jsonTypeOf(kind);
    }
    if (!isUntyped) return jsonTypeOf(kind);
    return jsonTypeOfVariable(isAligned(variables) ? variables[i] : undefined, known.variables);
  };
  return columns.map((column, i) => ({
    name: names[i] as string,
    type: column.type,
    nullable: !(
      (isKept(column, i) && !column.nullable) ||
      isNeverNull(column, i) ||
      asserted.has(names[i] as string)
    ),
    jsonType: typeOf(column, i),
    ...(column.labels && { labels: { values: [...column.labels] } }),
  }));
}

/** Variables whose values are sent as texts. */
const textTypes = new Set<string | undefined>(['string', 'date', 'timestamp', 'uuid', 'json']);

/** Of a column that is the variable, or else is made of any. Their values come back as the numbers or texts they are sent as. */
function jsonTypeOfVariable(name: string | undefined, variables: readonly DescribedVariable[]): JsonType {
  const types = variables
    .filter(({ key }) => name === undefined || key === name)
    .map(({ type }) => type?.replace('[]', ''));
  if (types.every((type) => textTypes.has(type))) return 'string';
  return name !== undefined && types[0] === 'boolean' ? 'number' : 'number|string';
}
