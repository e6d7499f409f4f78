/** The documents of what the hub says, and to whom. */

import type { EventType } from '@datahub/contract/watches';
import type { Doc } from '@datahub/document-store';
import type { Dated } from '../documents.ts';

/** What the hub says. Ids sort by time. */
export interface EventDoc extends Doc {
  type: EventType;
  at: number;
  /** Null if it belongs to the account. */
  hubId: string | null;
  dataJson: string;
}

export interface DestinationDoc extends Doc, Dated {
  label: string;
  url: string;
  /** Absent for the form of Standard Webhooks. */
  template?: 'slack';
  /** The hubs whose events it may be told; absent for all, and those of the account. */
  hubIds?: string[];
  /** The types of events that it is told, besides those of watches that name it. */
  events: EventType[];
  /** 0 or 1. */
  disabled: number;
  /** Why the hub disabled it; absent if it did not. */
  disabledBecause?: string;
  /** The newest first. An older one signs beside it until it expires. */
  secrets: { sealed: string; expiresAt: number | null }[];
  /** Since when no delivery has arrived; absent if the last one did. */
  failingSince?: number;
}

/** One event for one destination. Its id is derived from both. */
export interface DeliveryDoc extends Doc {
  destinationId: string;
  eventId: string;
  /** Of the event. */
  hubId: string | null;
  type: string;
  body: string;
  state: 'pending' | 'delivered' | 'failed';
  attempts: number;
  /** When an executor takes it next: for an attempt, or because the lease is over. Null if it has ended. */
  dueAt: number | null;
  lease?: string;
  /** How the last attempt ended. */
  status?: number;
  error?: string;
  durationMs?: number;
  createdAt: number;
  endedAt: number | null;
  expiresAt: number;
}

/** An event that is told once. Its id says what it is about. */
export interface AnnouncementDoc extends Doc {
  expiresAt: number;
}
