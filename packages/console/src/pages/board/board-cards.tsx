/** The cards of a board, and how they are arranged. */

import { useState } from 'preact/hooks';
import type { ListedQuery } from '../../api/types.ts';
import { reads } from '../../state/commands.ts';
import { may } from '../../state/permissions.ts';
import { Icon } from '../../ui/icons.tsx';
import { Card } from '../hub/card.tsx';
import type { CardValues } from '../hub/cards.ts';
import { type BoardCard, queryOf, shownQuery, sizeWords, textParts, toCardValues } from './board.ts';
import { CardDialog } from './card-dialog.tsx';

interface BoardCardsProps {
  cards: BoardCard[];
  queries: ListedQuery[];
  values: CardValues;
  turn: number;
  /** Present while the board is edited. */
  onChange?: ((cards: BoardCard[]) => void) | undefined;
}

export function BoardCards({ cards, queries, values, turn, onChange }: BoardCardsProps) {
  const [opened, setOpened] = useState<number>();
  const set = (at: number, change: Partial<BoardCard>) =>
    onChange?.(cards.map((card, i) => (i === at ? { ...card, ...change } : card)));
  const move = (at: number, by: number) => {
    const next = [...cards];
    const [card] = next.splice(at, 1);
    if (card !== undefined) next.splice(at + by, 0, card);
    onChange?.(next);
  };
  const add = (card: BoardCard) => {
    onChange?.([...cards, card]);
    if (card.text !== undefined) setOpened(cards.length);
  };
  const card = opened === undefined ? undefined : cards[opened];
  return (
    <>
      <ul class="cards board-cards" aria-label="Cards">
        {cards.map((one, i) => (
          // The same query can stand on a board twice.
          <li key={i} class={`board-card ${one.size ?? 'small'}${isShortText(one) ? ' short' : ''}`}>
            {onChange !== undefined && (
              <Tools
                card={one}
                isFirst={i === 0}
                isLast={i === cards.length - 1}
                onSize={(size) => set(i, { size })}
                onMove={(by) => move(i, by)}
                onOpen={() => setOpened(i)}
                onRemove={() => onChange(cards.filter((_, at) => at !== i))}
              />
            )}
            <Shown card={one} queries={queries} values={values} turn={turn} />
          </li>
        ))}
      </ul>
      {cards.length === 0 && <p class="empty">No cards yet.</p>}
      {onChange !== undefined && <AddCard queries={queries} onAdd={add} />}
      {card !== undefined && opened !== undefined && (
        <CardDialog
          card={card}
          query={queryOf(card, queries)}
          onClose={() => setOpened(undefined)}
          onChange={(changed) => onChange?.(cards.map((one, i) => (i === opened ? changed : one)))}
        />
      )}
    </>
  );
}

/** Fits into the height of a title and some lines. */
const isShortText = ({ text }: BoardCard): boolean =>
  text !== undefined && text.length <= 120 && text.split('\n').length <= 3;

interface ShownProps {
  card: BoardCard;
  queries: ListedQuery[];
  values: CardValues;
  turn: number;
}

function Shown({ card, queries, values, turn }: ShownProps) {
  if (card.text !== undefined)
    return (
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard scrolls it.
      <div class="card pinned-card text-card" role="group" aria-label="Text card" tabIndex={0}>
        {textParts(card.text).map(({ isTitle, text }, i) =>
          isTitle ? <h2 key={i}>{text}</h2> : <p key={i}>{text}</p>,
        )}
      </div>
    );
  const query = queryOf(card, queries);
  if (query === undefined || !may('queries:execute'))
    return (
      <div class="card pinned-card">
        <p class="card-problem">
          {query === undefined
            ? `This hub has no query “${card.path ?? card.queryId}”, or your key may not read it.`
            : `${query.meta.label}: your key may not execute it.`}
        </p>
      </div>
    );
  const sent = { ...values, ...toCardValues(card.values) };
  return (
    <Card
      query={shownQuery(query, card)}
      values={sent}
      turn={turn}
      isLarge={card.size === 'large' || card.size === 'full'}
    />
  );
}

interface ToolsProps {
  card: BoardCard;
  isFirst: boolean;
  isLast: boolean;
  onSize(size: NonNullable<BoardCard['size']>): void;
  onMove(by: number): void;
  onOpen(): void;
  onRemove(): void;
}

function Tools({ card, isFirst, isLast, onSize, onMove, onOpen, onRemove }: ToolsProps) {
  const sizes = Object.entries(sizeWords) as [NonNullable<BoardCard['size']>, string][];
  return (
    <div class="card-tools" role="toolbar" aria-label="The card">
      <select
        aria-label="Size"
        value={card.size ?? 'small'}
        onChange={({ currentTarget }) => onSize(currentTarget.value as keyof typeof sizeWords)}
      >
        {sizes.map(([size, word]) => (
          <option key={size} value={size}>
            {word}
          </option>
        ))}
      </select>
      <button type="button" class="mini words" disabled={isFirst} onClick={() => onMove(-1)}>
        Earlier
      </button>
      <button type="button" class="mini words" disabled={isLast} onClick={() => onMove(1)}>
        Later
      </button>
      <button type="button" class="mini icon-only" aria-label="Change the card" onClick={onOpen}>
        <Icon name="edit" />
      </button>
      <button type="button" class="mini icon-only" aria-label="Remove the card" onClick={onRemove}>
        <Icon name="close" />
      </button>
    </div>
  );
}

function AddCard({ queries, onAdd }: { queries: ListedQuery[]; onAdd(card: BoardCard): void }) {
  const reading = queries
    .filter(({ config }) => reads(config.command))
    .sort((one, other) => one.meta.label.localeCompare(other.meta.label));
  const add = (queryId: string) => {
    const path = queries.find(({ config }) => config.query.queryId === queryId)?.meta.path;
    onAdd(path ? { path } : { queryId });
  };
  return (
    <div class="add-card">
      <label>
        Add a query{' '}
        <select
          value=""
          onChange={({ currentTarget }) => {
            add(currentTarget.value);
            currentTarget.value = '';
          }}
        >
          <option value="">Choose …</option>
          {reading.map(({ meta, config }) => (
            <option key={config.query.queryId} value={config.query.queryId}>
              {meta.label}
            </option>
          ))}
        </select>
      </label>
      <button type="button" onClick={() => onAdd({ text: '# Title\nText', size: 'wide' })}>
        <Icon name="plus" /> Text
      </button>
    </div>
  );
}
