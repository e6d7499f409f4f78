/** The rows of a board as one workbook, with a sheet for each card. */

import { call, Failure, part } from '../../api/client.ts';
import type { ListedQuery } from '../../api/types.ts';
import { fileName, kindOf, saveBlob } from '../../state/downloads.ts';
import { type CardValues, searchOf } from '../hub/cards.ts';
import { type Board, queryOf, shownQuery, toCardValues } from './board.ts';
import { joinWorkbooks, type Workbook } from './workbook.ts';

/** Reads one card after the other, with all its rows. */
export async function saveBoard(board: Board, queries: ListedQuery[], values: CardValues): Promise<void> {
  const books: Workbook[] = [];
  const { accept } = kindOf('xlsx');
  for (const card of board.cards) {
    if (card.text !== undefined) continue;
    const found = queryOf(card, queries);
    const named = card.label ?? card.path ?? card.queryId ?? '';
    if (found === undefined) throw missing(named, 'the key may not read its query, or the hub has none.');
    const query = shownQuery(found, card);
    const search = searchOf(query, { ...values, ...toCardValues(card.values) });
    const path = `v1/queries/${part(query.config.query.queryId)}/data?${search}`;
    const bytes = await call(path, { accept })
      .then((response) => response.bytes())
      .catch((err) => {
        throw err instanceof Failure ? missing(query.meta.label, err.message) : err;
      });
    books.push({ label: query.meta.label, bytes });
  }
  if (books.length === 0) throw missing(board.label, 'it has no cards of queries.');
  saveBlob(await joinWorkbooks(books), `${fileName(board.label)}.xlsx`);
}

const missing = (label: string, detail: string) =>
  new Failure({ status: 0, title: 'No workbook', detail: `Nothing was downloaded. “${label}”: ${detail}` });
