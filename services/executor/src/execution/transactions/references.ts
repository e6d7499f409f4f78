/** Values that a step takes from the answers of earlier steps. They are values only, bound as those of the caller. */

import { elementsOf, membersOf } from '@datahub/contract/json-text';
import { transactionBounds } from '@datahub/contract/transactions';
import type { Reference } from '@datahub/proto/executor/v1/executor';
import { contextInvalid } from '@datahub/statement/values';

/** The answers of the steps that have run, as JSON, by their names. */
export type Answers = ReadonlyMap<string, string>;

/** The context with the referenced values. Throws CONTEXT_INVALID for a value that is not there. */
export function withReferences(
  contextJson: string,
  references: readonly Reference[],
  { answers, pinned }: { answers: Answers; pinned: ReadonlySet<string> },
): string {
  const wanted = references.filter(({ variable }) => !pinned.has(variable));
  if (wanted.length === 0) return contextJson;
  const members = contextJson === '' ? new Map<string, string>() : new Map(membersOf(contextJson));
  for (const { variable, from, pointer } of wanted) {
    const value = valueAt(answers.get(from) ?? '{}', pointer);
    if (value === undefined)
      throw contextInvalid([
        { path: ['references', variable], detail: `finds no value at ${pointer} of the step ${from}` },
      ]);
    members.set(variable, value);
  }
  return `{${[...members].map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`;
}

/** JSON text of the value at a pointer (RFC 6901), such as /data/0/id. Only the first rows can be referenced. */
function valueAt(json: string, pointer: string): string | undefined {
  const [empty, root, index = '', ...path] = pointer
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  const row = /^(0|[1-9]\d{0,3})$/.test(index) ? Number(index) : transactionBounds.referencedRows;
  if (empty !== '' || root !== 'data' || row >= transactionBounds.referencedRows) return undefined;
  const rows = membersOf(json).get('data');
  let at = rows === undefined ? undefined : elementsOf(rows)[row];
  for (const part of path) {
    if (at === undefined) return undefined;
    const text = at.trimStart();
    if (text.startsWith('{')) at = membersOf(text).get(part);
    else if (text.startsWith('[') && /^(0|[1-9]\d*)$/.test(part)) at = elementsOf(text)[Number(part)];
    else return undefined;
  }
  return at;
}
