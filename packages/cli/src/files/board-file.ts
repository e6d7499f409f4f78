/** The file of a board: its settings in YAML, with the paths of its queries. */

import { cardSizes } from '@datahub/contract/limits';
import { writeCanonical } from './compare.ts';
import type { Fault } from './fault.ts';
import type { BoardModel, CardModel } from './model.ts';
import { type Located, readYaml, type Shape, writeYaml } from './yaml.ts';

const cardMembers = {
  text: 'text',
  query: 'text',
  label: 'text',
  size: { oneOf: cardSizes },
  values: 'object',
  presentation: 'object',
} as const satisfies Record<keyof CardModel, Shape>;
const members = {
  label: 'text',
  values: 'object',
  refreshMinutes: 'whole number',
  cards: { list: { members: cardMembers } },
} as const satisfies Record<Exclude<keyof BoardModel, 'path'>, Shape>;
const shape: Shape = { members, required: ['label', 'cards'] };

export interface BoardFile {
  file: string;
  model: BoardModel;
  place: Located<unknown>['place'];
}

export function readBoardFile(
  text: string,
  { file, path, faults }: { file: string; path: string; faults: Fault[] },
): BoardFile | undefined {
  const origin = { file, line: 1, column: 1 };
  const located = readYaml<Omit<BoardModel, 'path' | 'values'> & Partial<BoardModel>>(text, {
    origin,
    shape,
    faults,
  });
  if (located === undefined) return undefined;
  const { value, place } = located;
  for (const [i, card] of value.cards.entries())
    if ((card.query === undefined) === (card.text === undefined))
      faults.push({ file, ...place(['cards', i]), detail: 'A card has either a query or a text' });
  return { file, model: { values: {}, ...value, path }, place };
}

export function writeBoardFile(board: BoardModel): string {
  const { label, values, refreshMinutes, cards } = board;
  return writeYaml({
    label,
    ...(Object.keys(values).length === 0 ? {} : { values }),
    ...(refreshMinutes === undefined ? {} : { refreshMinutes }),
    cards: cards.map((card) => inOrder(withoutDefaults(card))),
  });
}

const inOrder = (card: CardModel): object =>
  Object.fromEntries(
    (Object.keys(cardMembers) as (keyof CardModel)[])
      .filter((name) => card[name] !== undefined)
      .map((name) => [name, card[name]]),
  );

function withoutDefaults({ size, values, ...card }: CardModel): CardModel {
  const isSaid = values !== undefined && Object.keys(values).length > 0;
  return {
    ...card,
    ...(size === undefined || size === 'small' ? {} : { size }),
    ...(isSaid ? { values } : {}),
  };
}

export function changedBoardMembers(mine: BoardModel, theirs: BoardModel): string[] {
  const [one, other] = [mine, theirs].map(
    ({ cards, ...rest }): Record<string, unknown> => ({
      ...rest,
      cards: cards.map(withoutDefaults),
    }),
  ) as [Record<string, unknown>, Record<string, unknown>];
  return Object.keys(members).filter(
    (name) => writeCanonical(one[name] ?? null) !== writeCanonical(other[name] ?? null),
  );
}
