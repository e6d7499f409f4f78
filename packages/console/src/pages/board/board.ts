/** A board: its answers, and what its cards show and send. */

import { toText } from '../../api/exact.ts';
import type { Answer, ListedQuery, Variable } from '../../api/types.ts';
import { membersOf } from '../../state/address-values.ts';
import { isSame } from '../../ui/merged-form.ts';
import type { CardValues } from '../hub/cards.ts';
import { variablesOf } from '../hub/pinned.ts';

export type Board = Answer<'GET /v1/boards/{boardId}'>;
export type BoardCard = Board['cards'][number];

export const sizeWords = {
  small: 'Small',
  wide: 'Wide',
  large: 'Large',
  full: 'Whole row',
} as const satisfies Record<NonNullable<BoardCard['size']>, string>;

/** What a person changes before saving. */
export interface BoardDraft {
  label: string;
  path: string;
  refreshMinutes: string;
  cards: BoardCard[];
}

export const toDraft = ({ label, path, refreshMinutes, cards }: Board): BoardDraft => ({
  label,
  path: path ?? '',
  refreshMinutes: refreshMinutes === null ? '' : String(refreshMinutes),
  cards,
});

/** What a change replaces: the draft, and the values that the page shows. */
export type BoardFields = BoardDraft & { values: CardValues };

export const fieldsOf = (board: Board): BoardFields => ({
  ...toDraft(board),
  values: toCardValues(board.values),
});

/** What the page calls them. */
export const fieldNames: Readonly<Record<keyof BoardFields, string>> = {
  label: 'Name',
  path: 'Path',
  refreshMinutes: 'Minutes between runs',
  cards: 'Cards',
  values: 'Values',
};

/** The body of a change of a board with these values. */
export function toBody(
  { label, path, refreshMinutes, cards, values }: BoardFields,
  stored: Board['values'],
): object {
  const minutes = Number(refreshMinutes);
  return {
    label,
    path: path.trim() || null,
    refreshMinutes: minutes > 0 ? minutes : null,
    cards,
    values: toStored(values, stored),
  };
}

export const isMinutes = (text: string): boolean => text === '' || /^([1-9]\d{0,3})$/.test(text);

/** The query that a card shows. Undefined if the hub has none, or the key may not read it. */
export const queryOf = (card: BoardCard, queries: readonly ListedQuery[]): ListedQuery | undefined =>
  queries.find(
    ({ meta, config }) =>
      config.query.queryId === card.queryId || (card.path !== undefined && meta.path === card.path),
  );

/** The variables of a card's query that the card leaves to the board. */
export function asksOf(card: BoardCard, queries: readonly ListedQuery[]): Variable[] {
  const query = queryOf(card, queries);
  if (query === undefined) return [];
  return variablesOf(query).filter(({ key }) => !Object.hasOwn(card.values ?? {}, key));
}

/** The query as the card shows it: with its own chart and name. */
export function shownQuery(query: ListedQuery, { label, presentation }: BoardCard): ListedQuery {
  const { meta, config } = query;
  return {
    ...query,
    meta: label === undefined ? meta : { ...meta, label },
    config:
      presentation === undefined
        ? config
        : { ...config, presentation: { ...config.presentation, ...presentation } },
  };
}

/** Stored values as the texts that an address has. */
export const toCardValues = (values: object | undefined): CardValues =>
  Object.fromEntries(
    Object.entries(values ?? {}).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.map(toText) : toText(value),
    ]),
  );

/** Texts to store. A value that was not changed stays the number or truth value that is stored. */
export const toStored = (
  values: CardValues,
  stored: NonNullable<BoardCard['values']> = {},
): typeof stored => {
  const shown = toCardValues(stored);
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      const kept = stored[name];
      return [name, kept !== undefined && isSame(value, shown[name]) ? kept : value];
    }),
  );
};

/** The text that a field shows for a value. */
export const fieldText = (value: string | string[] = ''): string =>
  Array.isArray(value) ? value.join(', ') : value;

/** The value that a field was changed to. Several texts stay a list; without a text nothing is sent. */
export const fieldValue = (text: string, before: string | string[] = ''): string | string[] =>
  Array.isArray(before) && text !== '' ? text.split(/, */) : text;

/** The values of a board in a link: `region=north&ids=1&ids=2`. */
export const toQuery = (values: CardValues): string =>
  Object.entries(values)
    .flatMap(([name, value]) =>
      [value].flat().map((one) => `${encodeURIComponent(name)}=${encodeURIComponent(one)}`),
    )
    .join('&');

export function fromQuery(text: string): CardValues {
  const given = [...membersOf(text)].map(([name, found]): [string, string | string[]] => {
    const texts = found.filter((one) => one !== null);
    return [name, texts.length === 1 ? (texts[0] as string) : texts];
  });
  return Object.fromEntries(given);
}

/** A line that begins with `# ` is a title, and an empty line separates paragraphs. */
export function textParts(text: string): { isTitle: boolean; text: string }[] {
  return text
    .split(/\n(?=# )|(?<=^# [^\n]*)\n|\n{2,}/m)
    .filter((part) => part.trim() !== '')
    .map((part) =>
      part.startsWith('# ') ? { isTitle: true, text: part.slice(2).trim() } : { isTitle: false, text: part },
    );
}
