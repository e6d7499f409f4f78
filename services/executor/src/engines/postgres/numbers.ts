/**
 * Numbers and booleans of variables without a type. The server takes a parameter for a text where several types fit, as in
 * `doc -> :i` and `:a < :b`, but the same number in the text of the statement for a number.
 */

import { HubError } from '@datahub/service-kit/call/error';
import { ExactNumber } from '@datahub/statement/values';
import type { Statement } from '../../ports/engine.ts';
import type { FieldDescription, Typed } from './protocol.ts';
import { savepoint } from './session.ts';

interface Inferred {
  parameterTypes: readonly number[];
  apart: Statement['apart'];
}

const text = 25;
const [boolean, integer, bigint, numeric] = [16, 23, 20, 1700];
const integerMax = 2_147_483_647;

/** The type of the same value in the text of a statement. */
function typeOf(value: unknown): number {
  if (typeof value === 'boolean') return boolean;
  const digits = value instanceof ExactNumber ? value.text : typeof value === 'number' ? String(value) : '';
  // Others would be written in another way where the value becomes a text.
  if (!/^-?(?:0|[1-9]\d*)(?:\.\d+)?$/.test(digits) || digits === '-0') return 0;
  if (digits.includes('.')) return numeric;
  if (Math.abs(Number(digits)) <= integerMax) return integer;
  return BigInt.asIntN(64, BigInt(digits)) === BigInt(digits) ? bigint : numeric;
}

/** True if a variable without a type may have a number. */
export const hasNumbers = ({ params, untyped, infersTypes }: Statement): boolean =>
  infersTypes === true &&
  (params.some((param) => typeOf(param) !== 0) || untyped?.some(({ value }) => typeOf(value) !== 0) === true);

/** The statement with the types of numbers that the server takes for texts. Undefined if there are none. */
export function typedOf(statement: Statement, { parameterTypes, apart }: Inferred): Typed | undefined {
  const { params, untyped, key } = statement;
  if (!parameterTypes.includes(text)) return undefined;
  const exact = new Map(untyped?.map(({ index, value }) => [index, value]));
  const types = parameterTypes.map((type, i) => {
    const place = apart?.params[i] ?? i;
    return type === text ? typeOf(exact.get(place) ?? params[place]) : 0;
  });
  if (types.every((type) => type === 0)) return undefined;
  return { ...statement, key: `${key}#${types.join()}`, apart, types };
}

/** True if the columns are those that callers were told of. */
export const haveSameColumns = (
  one: { fields: FieldDescription[] | undefined },
  other: { fields: FieldDescription[] | undefined },
): boolean =>
  one.fields?.length === other.fields?.length &&
  (one.fields ?? []).every(({ typeId }, i) => typeId === other.fields?.[i]?.typeId);

/** Undefined if the server refuses the work. A transaction that is open goes on. */
export async function attempt<T>(
  host: { inTransaction: boolean; rows(text: string): Promise<unknown> },
  work: () => Promise<T>,
): Promise<T | undefined> {
  const undone = host.inTransaction ? savepoint : undefined;
  if (undone) await host.rows(undone.begin);
  try {
    const result = await work();
    if (undone) await host.rows(undone.end);
    return result;
  } catch (err) {
    if (!(err instanceof HubError) || err.code !== 'SQL_REJECTED') throw err;
    if (undone) await host.rows(undone.undo);
    return undefined;
  }
}
