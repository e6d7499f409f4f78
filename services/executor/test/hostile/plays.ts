import type { Socket } from 'node:net';
import type { Format } from '@datahub/proto/executor/v1/executor';

/** What a hostile server does, and how the hub may answer it. */
export interface Play {
  name: string;
  play: (socket: Socket) => void;
  codes: string[];
  /** That the call requests; JSON by default. */
  format?: Format;
  /** It ends by the hub's own bound of time. */
  lasts?: boolean;
}
