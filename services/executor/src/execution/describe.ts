/** Describes a query at its source: its columns and its variables. */

import type { DescribeQueryResponse } from '@datahub/proto/executor/v1/executor';
import type { HubError } from '@datahub/service-kit/call/error';
import type { ColumnFacts } from '@datahub/statement/compile';
import type { QueryDefinition } from '../definitions/definition.ts';
import type { DescribedColumn, Signature } from '../ports/engine.ts';
import { uniqueNames } from '../result/column-names.ts';
import { jsonTypeOf } from '../result/formats/json.ts';
import { toFailure } from './execution-error.ts';
import type { DescribableForm, PreparedQuery } from './prepare.ts';

interface DescribeDeps {
  describe(form: DescribableForm): Promise<Signature>;
  /** The wall-clock time. */
  nowMs: () => number;
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
      return {
        columns: toColumns(signature.columns, prepared.columnFacts(), notNull),
        variables: prepared.variables(signature, form),
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

/** Numbers duplicate column names, as answers do. */
function toColumns(
  columns: readonly DescribedColumn[],
  { keepsNotNull, neverNull }: ColumnFacts,
  asserted: readonly string[],
) {
  const names = uniqueNames(columns.map(({ name }) => name));
  const isAligned = neverNull.length === columns.length;
  return columns.map((column, i) => ({
    name: names[i] as string,
    type: column.type,
    nullable: !(
      (keepsNotNull && !column.nullable) ||
      (isAligned && neverNull[i] === true) ||
      asserted.includes(names[i] as string)
    ),
    jsonType: jsonTypeOf(column.kind),
  }));
}
