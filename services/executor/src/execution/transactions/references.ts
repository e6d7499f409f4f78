/** Values that a step takes from the answers of earlier steps. They are values only, bound as those of the caller. */

import { elementsOf, membersOf, objectOf } from '@datahub/contract/json-text';
import { transactionBounds } from '@datahub/contract/transactions';
import type { Reference } from '@datahub/proto/executor/v1/executor';
import { contextInvalid } from '@datahub/statement/values';

/** The answers of the steps that have run, by their names. */
export type Answers = ReadonlyMap<string, StepAnswer>;

/** The context with the referenced values. Throws CONTEXT_INVALID for a value that is not there, or too large. */
export function withReferences(
  contextJson: string,
  references: readonly Reference[],
  { answers, pinned }: { answers: Answers; pinned: ReadonlySet<string> },
): string {
  const wanted = references.filter(({ variable }) => !pinned.has(variable));
  if (wanted.length === 0) return contextJson;
  const members = contextJson === '' ? new Map<string, string>() : new Map(membersOf(contextJson));
  let characters = 0;
  for (const { variable, from, pointer } of wanted) {
    const value = answers.get(from)?.at(pointer);
    characters += value?.length ?? 0;
    if (value === undefined) throw invalid(variable, `finds no value at ${pointer} of the step ${from}`);
    if (characters > transactionBounds.answerBytes)
      throw invalid(
        variable,
        `and those before it have more than ${transactionBounds.answerBytes} characters together`,
      );
    members.set(variable, value);
  }
  return objectOf(members);
}

const invalid = (variable: string, detail: string) =>
  contextInvalid([{ path: ['references', variable], detail }]);

/** Pointers lead no deeper, and past no more members or elements than this: each level is read once. */
const levelsMax = 16;
const partsMax = 10_000;

/** What a value consists of, as JSON by name or index. */
type Parts = ReadonlyMap<string, string>;

/** The answer of a step as JSON. What references lead through is kept, so that many cost as much as one. */
export class StepAnswer {
  readonly #json: string;
  readonly #parts = new Map<string, Parts>();

  constructor(json: string) {
    this.#json = json;
  }

  /** JSON text of the value at a pointer (RFC 6901), such as /data/0/id. Only the first rows can be referenced. */
  at(pointer: string): string | undefined {
    const [empty, root, ...path] = pointer.split('/');
    if (empty !== '' || root !== 'data' || path.length === 0 || path.length > levelsMax) return undefined;
    let at = this.#partsOf('', this.#json).get('data');
    let place = '/data';
    for (const part of path) {
      if (at === undefined) return undefined;
      const max = place === '/data' ? transactionBounds.referencedRows : partsMax;
      at = this.#partsOf(place, at, max).get(part.replaceAll('~1', '/').replaceAll('~0', '~'));
      place += `/${part}`;
    }
    return at;
  }

  #partsOf(place: string, value: string, max = partsMax): Parts {
    const known = this.#parts.get(place);
    if (known !== undefined) return known;
    const parts = readParts(value.trimStart(), max);
    this.#parts.set(place, parts);
    return parts;
  }
}

function readParts(value: string, max: number): Parts {
  if (value.startsWith('{')) return membersOf(value, { max });
  if (!value.startsWith('[')) return new Map();
  return new Map(elementsOf(value, { max }).map((element, i) => [String(i), element]));
}
