/** The matrix as a table of Markdown. */

import type { Check } from './check.ts';
import type { Target } from './targets.ts';

const [begin, end] = ['<!-- matrix: begin -->', '<!-- matrix: end -->'];

export interface Column {
  target: Target;
  /** The version that the server reports. */
  version: string;
}

/** Returns a table with a row for each check and a column for each server. Numbers refer to the reasons below it. */
export function drawTable(checks: readonly Check[], columns: readonly Column[]): string {
  const reasons = [...new Set(columns.flatMap(({ target }) => Object.values(target.lacks)))];
  const cell = ({ target }: Column, name: string) => {
    const reason = target.lacks[name];
    return reason === undefined ? 'yes' : `no ${reasons.indexOf(reason) + 1}`;
  };
  const row = (first: string, cells: string[]) => `| ${[first, ...cells].join(' | ')} |`;
  return [
    row(
      'check',
      columns.map(({ target }) => target.name),
    ),
    row(
      '---',
      columns.map(() => '---'),
    ),
    row(
      'version',
      columns.map(({ version }) => version),
    ),
    ...checks.map(({ name }) =>
      row(
        name,
        columns.map((column) => cell(column, name)),
      ),
    ),
    '',
    ...reasons.map((reason, i) => `${i + 1}. ${reason}.`),
  ].join('\n');
}

/** Replaces the table between the marks of a text. */
export function replaceTable(text: string, table: string): string {
  const [before, rest] = text.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`The text has no ${begin} and ${end}.`);
  return `${before}${begin}\n\n${table}\n\n${end}${after}`;
}

/** Returns the versions in the table of a text. */
export function versionsIn(text: string): string[] {
  const line =
    text
      .split(begin)[1]
      ?.split('\n')
      .find((one) => one.startsWith('| version |')) ?? '';
  return line
    .split('|')
    .slice(2, -1)
    .map((cell) => cell.trim());
}
