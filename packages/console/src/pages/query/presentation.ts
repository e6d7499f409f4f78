/** What the console draws of a query, stored with it. */

import type { Presentation } from '../../api/types.ts';

export interface Saved {
  presentation: Presentation;
  /** Stores a change. What the change does not name stays. */
  save(change: Partial<Presentation>): Promise<void>;
}
