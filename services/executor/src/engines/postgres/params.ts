/** The parameters of a statement, in the forms of the types that the server expects. */

import type { FieldFault } from '@datahub/contract/validation-error';
import { untypedFault, untypedText } from '@datahub/statement/sql/untyped';
import { contextInvalid } from '@datahub/statement/values';
import type { Param, Statement } from '../../ports/engine.ts';
import { expectedOf, type ServerType, typeName } from './values.ts';

/** Throws CONTEXT_INVALID. */
export function paramsOf(
  { params, untyped }: Statement,
  { parameterTypes, apart }: { parameterTypes: readonly number[]; apart: Statement['apart'] },
  serverTypes: ReadonlyMap<number, ServerType>,
): Param[] {
  if (untyped === undefined)
    return apart === undefined ? params : apart.params.map((place) => params[place] as Param);
  const values = new Map(untyped.map((value) => [value.index, value]));
  const faults = new Map<number, FieldFault>();
  const places = apart?.params ?? params.map((_, place) => place);
  const formed = places.map((place, i) => {
    const value = values.get(place);
    if (value === undefined) return params[place] as Param;
    const typeId = parameterTypes[i] ?? 0;
    const text = untypedText(value.value, expectedOf(typeId, serverTypes));
    if (text === undefined) faults.set(place, untypedFault(value, typeName(typeId, serverTypes)));
    return text ?? null;
  });
  if (faults.size > 0) throw contextInvalid([...faults.values()]);
  return formed;
}
