/** The order and the rows that are shown, in the table as in the chart. */

import { useEffect, useRef, useState } from 'preact/hooks';
import type { RowStore, Sort } from '../../state/rows/row-store.ts';

/** The number of rows that are shown, or what they still wait for. */
export type InSight = number | 'filter' | 'sort';

export interface Arranged {
  inSight: InSight;
  /** Changes with the rows that are shown, and with their order. */
  turn: number;
  sort: Sort | undefined;
  setSort(sort: Sort | undefined): void;
}

interface ArrangedOptions {
  /** Grows with the rows. */
  rows: number;
  filter: string;
  /** Grows with the labels that were corrected. */
  corrected?: number | undefined;
}

export function useArranged(
  store: RowStore | undefined,
  { rows, filter, corrected }: ArrangedOptions,
): Arranged {
  const [sorted, setSorted] = useState<{ store: RowStore | undefined; sort: Sort | undefined }>();
  // Another run begins in the order of arrival.
  const sort = sorted?.store === store ? sorted?.sort : undefined;
  const [shown, setShown] = useState<{ inSight: InSight; turn: number }>({ inSight: 0, turn: 0 });
  const asked = useRef(0);
  const isTyped = store?.isTyped;
  useEffect(() => {
    const mine = ++asked.current;
    if (store === undefined) return;
    const isCurrent = () => asked.current === mine;
    // What is drawn until then has the order and the rows from before.
    if (filter.trim() !== '' || sort !== undefined)
      setShown(({ turn }) => ({ inSight: sort === undefined ? 'filter' : 'sort', turn }));
    void store.arrange({ sort, filter }, isCurrent).then(() => {
      if (isCurrent()) setShown(({ turn }) => ({ inSight: store.length, turn: turn + 1 }));
    });
  }, [store, isTyped, rows, sort, filter, corrected]);
  return { ...shown, sort, setSort: (next) => setSorted({ store, sort: next }) };
}
