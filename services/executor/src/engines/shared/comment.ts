/** Adds its comment to a statement, so that the database's own tools show which query it is. */

import type { Statement } from '../../ports/engine.ts';

export type Commented = Pick<Statement, 'text' | 'comment'>;

/** Behind blanks at the start, which servers remove and do not count. */
export function withCommentInFront({ text, comment }: Commented): string {
  if (comment === undefined) return text;
  const start = Math.max(0, text.search(/\S/));
  return `${text.slice(0, start)}${signed(comment)} ${text.slice(start)}`;
}

/** The number of characters that a comment in front adds. */
export const commentLength = ({ comment }: Commented): number =>
  comment === undefined ? 0 : signed(comment).length + 1;

/** On a line of its own, because the text may end in a comment. */
export const withCommentBehind = ({ text, comment }: Commented): string =>
  comment === undefined ? text : `${text}\n${signed(comment)}`;

const signed = (comment: string): string => `/*${comment}*/`;
