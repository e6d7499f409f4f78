/** What resealing needs and says, for the credentials of sources and the secrets of destinations. */

import type { Opener } from '@datahub/sealing/opener';
import type { Seal } from '@datahub/sealing/sealer';

export interface Resealing {
  opener: Opener;
  /** Seals to the opener's current key. */
  seal: Seal;
  signal: AbortSignal;
  pageSize?: number;
  /** Gets each secret as it was found in the store. */
  onFound?: (text: string) => void;
}

export interface Resealed {
  moved: number;
  /** Cannot be opened, because the key is missing or the envelope was altered: the owner has to set them again. */
  unopened: number;
  /** Changed meanwhile; the next run tries them again. */
  contended: number;
}
