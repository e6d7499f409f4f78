/** Lines of two texts that differ, with the words that differ in them. */

import { count, counted } from '../../../ui/format.ts';
import { Scrolling } from '../../../ui/table.tsx';
import type { DiffGap, DiffLine } from './line-diff.ts';

const signs = { added: '+', removed: '−', same: ' ' };

export function DiffLines({ rows }: { rows: (DiffLine | DiffGap)[] }) {
  return (
    <Scrolling label="Lines that differ">
      <div class="diff">
        {rows.map((row, i) =>
          row.kind === 'gap' ? (
            <div key={i} class="diff-gap">
              {counted(row.lines, 'equal line')}
            </div>
          ) : (
            <div key={i} class={`diff-line ${row.kind}`}>
              <span class="diff-number" aria-hidden="true">
                {row.before === undefined ? '' : count(row.before)}
              </span>
              <span class="diff-number" aria-hidden="true">
                {row.after === undefined ? '' : count(row.after)}
              </span>
              <span class="diff-sign">{signs[row.kind]}</span>
              <span class="diff-text">
                {row.pieces === undefined
                  ? row.text
                  : row.pieces.map(({ text, isNew }, at) => (isNew ? <mark key={at}>{text}</mark> : text))}
              </span>
            </div>
          ),
        )}
      </div>
    </Scrolling>
  );
}
