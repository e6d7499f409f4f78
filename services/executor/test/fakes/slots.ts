/** Slots without a catalog, so that only the pool's own limits apply. */

import { SlotBook } from '../../src/slots/slot-book.ts';
import type { SourceSlots } from '../../src/slots/source-slots.ts';

export function anySlots(sourceId = 's'): SourceSlots {
  const book = new SlotBook({ now: () => performance.now() });
  book.allowAll();
  return book.of({ sourceId, accountId: 'a', max: 100, servers: [] });
}

/** For `openExecutor`. */
export function leaseAny(book: SlotBook): { close(): Promise<void> } {
  book.allowAll();
  return { close: async () => {} };
}
