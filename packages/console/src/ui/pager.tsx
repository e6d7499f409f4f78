/** Leads from page to page of a list. */

import type { ListPage } from '../api/client.ts';
import { count } from './format.ts';

interface PagerProps {
  /** The first and the last item of the page, from 1. */
  from: number;
  to: number;
  total: number;
  /** Undefined if there is no such page. */
  onBack: (() => void) | undefined;
  onNext: (() => void) | undefined;
}

export function Pager({ from, to, total, onBack, onNext }: PagerProps) {
  return (
    <div class="pager">
      <button type="button" disabled={onBack === undefined} onClick={onBack}>
        Back
      </button>
      <span class="hint">
        {to < from ? 'None' : `${count(from)} to ${count(to)}`} of {count(total)}
      </span>
      <button type="button" disabled={onNext === undefined} onClick={onNext}>
        Next
      </button>
    </div>
  );
}

interface OffsetPagerProps {
  page: ListPage<unknown>;
  /** Items of a page. */
  size: number;
  onChange(offset: number): void;
}

/** Of a list that is read by offset. */
export function OffsetPager({ page: { items, offset, total }, size, onChange }: OffsetPagerProps) {
  const end = offset + items.length;
  return (
    <Pager
      from={offset + 1}
      to={end}
      total={total}
      onBack={offset === 0 ? undefined : () => onChange(Math.max(0, offset - size))}
      onNext={end >= total ? undefined : () => onChange(end)}
    />
  );
}
