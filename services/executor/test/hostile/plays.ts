import type { Socket } from 'node:net';

/** What a hostile server does, and how the hub may answer it. */
export interface Play {
  name: string;
  play: (socket: Socket) => void;
  codes: string[];
  /** It ends by the hub's own bound of time. */
  lasts?: boolean;
}
