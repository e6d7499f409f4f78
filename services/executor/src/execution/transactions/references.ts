/** Values that a step takes from the answers of earlier steps. They are values only, bound as those of the caller. */

import { elementsOf, excessOf, lossyPart, membersOf, objectOf } from '@datahub/contract/json-text';
import { transactionBounds } from '@datahub/contract/transactions';
import type { Reference } from '@datahub/proto/executor/v1/executor';
import { turnForText } from '@datahub/service-kit/yield-to-loop';
import { contextInvalid } from '@datahub/statement/values';
import type { QueryDefinition } from '../../definitions/definition.ts';
import { defaultCharactersOf } from '../../definitions/definition-cache.ts';

/** The answers of the steps that have run, by their names. */
export type Answers = ReadonlyMap<string, StepAnswer>;

/**
 * The context with the referenced values. Throws CONTEXT_INVALID for a value that is not there, is too large, or would be
 * refused of a caller, because a parser changes it. If there is much for the query to bind, it resolves in an own turn.
 */
export async function withReferences(
  contextJson: string,
  references: readonly Reference[],
  { answers, pinned, query }: { answers: Answers; pinned: ReadonlySet<string>; query: QueryDefinition },
): Promise<string> {
  const wanted = references.filter(({ variable }) => !pinned.has(variable));
  const turn = (context: string) => turnForText(context.length + defaultCharactersOf(query));
  if (wanted.length === 0) return turn(contextJson)?.then(() => contextJson) ?? contextJson;
  const found = new Map<string, string>();
  let characters = 0;
  for (const { variable, from, pointer } of wanted) {
    const value = await answers.get(from)?.at(pointer);
    characters += value?.length ?? 0;
    if (value === undefined) throw invalid(variable, `finds no value at ${pointer} of the step ${from}`);
    if (characters > transactionBounds.answerBytes)
      throw invalid(
        variable,
        `and those before it have more than ${transactionBounds.answerBytes} characters together`,
      );
    found.set(variable, value);
  }
  await turnForText(characters);
  requireLossless(objectOf(found));
  const context = objectOf([...(contextJson === '' ? [] : membersOf(contextJson)), ...found]);
  await turn(context);
  return context;
}

/** `found`: the object of all values. */
function requireLossless(found: string): void {
  const excess = excessOf(found);
  const fault = excess === undefined ? lossyPart(found) : { path: [], detail: excess };
  if (fault !== undefined)
    throw contextInvalid([{ path: ['references', ...fault.path], detail: fault.detail }]);
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
  readonly #bytes: Buffer;
  #json: string | undefined;
  readonly #parts = new Map<string, Parts>();

  /** `bytes` are decoded for the first reference: most answers have none. */
  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** JSON text of the value at a pointer (RFC 6901), such as /data/0/id. Only the first rows can be referenced. */
  async at(pointer: string): Promise<string | undefined> {
    const [empty, root, ...path] = pointer.split('/');
    if (empty !== '' || root !== 'data' || path.length === 0 || path.length > levelsMax) return undefined;
    this.#json ??= this.#bytes.toString();
    let at = (await this.#partsOf('', this.#json)).get('data');
    let place = '/data';
    for (const part of path) {
      if (at === undefined) return undefined;
      const max = place === '/data' ? transactionBounds.referencedRows : partsMax;
      at = (await this.#partsOf(place, at, max)).get(part.replaceAll('~1', '/').replaceAll('~0', '~'));
      place += `/${part}`;
    }
    return at;
  }

  async #partsOf(place: string, value: string, max = partsMax): Promise<Parts> {
    const known = this.#parts.get(place);
    if (known !== undefined) return known;
    await turnForText(value.length);
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
