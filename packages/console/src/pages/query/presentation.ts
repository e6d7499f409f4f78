/** What the console draws of a query, stored with it. */

import type { Presentation } from '../../api/types.ts';

export interface Saved {
  presentation: Presentation;
  /** Why the chart that is drawn cannot be saved now. */
  refusal: string | undefined;
  /** Stores a change. What the change does not name stays. */
  save(change: Partial<Presentation>): Promise<void>;
}
