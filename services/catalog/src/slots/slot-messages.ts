/** What executors and the ledger of slots tell each other. */

export interface SlotUse {
  sourceId: string;
  accountId: string;
  max: number;
  servers: readonly string[];
  /** Only in a report. */
  held: number;
  returned: number;
  wanted: number;
}

/** What an executor is told of a source. */
export interface SlotChange {
  granted?: number;
  recalled?: number;
  contended?: boolean;
  /** All slots lie at executors that do not respond. */
  blocked?: boolean;
}

/** How the ledger reaches an executor. */
export interface Listener {
  send(sourceId: string, change: SlotChange): void;
  /** The executor was silent for too long, so its slots went to others. */
  expired(): void;
}
