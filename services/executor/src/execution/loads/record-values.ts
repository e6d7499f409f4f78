/**
 * The values of a record: a JSON object, or the texts of a record of CSV, which are read as the values of a URL. A list in a
 * field is JSON, as the hub writes it.
 */

import { excessOf, lossyPart, membersOf, objectOf } from '@datahub/contract/json-text';
import type { Load } from '@datahub/proto/executor/v1/executor';
import { HubError, reword } from '@datahub/service-kit/call/error';
import { contextInvalid } from '@datahub/statement/values';
import type { Statement } from '../../ports/engine.ts';
import type { CallValues, PreparedQuery } from '../prepare.ts';
import { createContextOfForm, type FormOf, faultOfJson, isList } from '../url-values.ts';

export type ReadRecord = (record: string) => Statement;

export interface RecordsOf extends FormOf {
  prepared: PreparedQuery;
  /** Of the caller. */
  values: Omit<CallValues, 'contextJson'>;
}

export function createRecordReader(
  { columns }: Load,
  { query, prepared, values, pinnedJson }: RecordsOf,
): ReadRecord {
  const contextOf = columns.length === 0 ? (record: string) => record : createTextReader();
  return (record) => {
    try {
      const statement = prepared.bind({ ...values, contextJson: contextOf(record) });
      // After the parser, which refuses what is no JSON.
      const lossy = columns.length === 0 ? lossyPart(record) : undefined;
      if (lossy !== undefined)
        throw contextInvalid([{ path: ['context', ...lossy.path], detail: lossy.detail }]);
      return statement;
    } catch (err) {
      throw ofRecord(err);
    }
  };

  function createTextReader() {
    const contextOfForm = createContextOfForm();
    const listed = new Set(
      query.variables.flatMap(({ key, type, secret }) => (isList(type) && !secret ? [key] : [])),
    );
    return (record: string) => {
      const texts = JSON.parse(record) as string[];
      const values: Field[] = [];
      const lists: Field[] = [];
      for (const [i, name] of columns.entries()) {
        const value = texts[i] as string;
        const isJsonList = listed.has(name) && /^(\[|$)/.test(value);
        if (!isJsonList) values.push({ name, value });
        else if (value !== '') lists.push({ name, value });
      }
      const context = contextOfForm({ values, checkOnly: false }, { query, prepared, pinnedJson });
      return requireLittle(lists.length === 0 ? context : withLists(context, lists));
    };
  }
}

/** Of all values of a record together, as of a line of NDJSON. */
function requireLittle(context: string): string {
  const detail = excessOf(context);
  if (detail !== undefined) throw contextInvalid([{ path: ['context'], detail }]);
  return context;
}

interface Field {
  name: string;
  value: string;
}

function withLists(context: string, lists: readonly Field[]): string {
  const members = new Map(membersOf(context));
  for (const { name, value } of lists) {
    const detail = faultOfJson(value);
    if (detail !== undefined) throw contextInvalid([{ path: ['context', name], detail }]);
    members.set(name, value);
  }
  return objectOf(members);
}

/** The error of the record alone: its members are the variables. */
function ofRecord(err: unknown): unknown {
  if (err instanceof RangeError) return contextInvalid([{ path: [], detail: 'is nested too deeply' }]);
  if (!(err instanceof HubError) || err.errors === undefined) return err;
  const errors = err.errors.map(({ path, detail }) => ({ path: path.slice(1), detail }));
  const message = err.message.replace(/^context(\.| )/, (_, next) => (next === '.' ? '' : 'the record '));
  return reword(err, message, { errors });
}

/** The error with the line of its record. A lost connection is no fault of a record. */
export const atLine = (err: unknown, line: number): unknown =>
  err instanceof HubError && err.code !== 'SOURCE_BROKEN'
    ? reword(err, `Line ${line}: ${err.message}`, { line })
    : err;
