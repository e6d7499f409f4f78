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
  /** Characters that count against the account; absent if an older hub wrote it. */
  size?: number;
}

export interface DestinationDoc extends Doc, Dated {
  label: string;
  /** Empty for a mail address. */
  url: string;
  mailTo?: string;
  /** With it, the recipient of mail confirms or ends it. Only the mails have it. */
  mailKey?: string;
  /** When the recipient agreed; absent if it has not. */
  confirmedAt?: number;
  /** When the recipient ended the mails. Only the recipient can begin them again. */
  mailEndedAt?: number;
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
  /** The same as of an event. */
  size?: number;
  state: 'pending' | 'delivered' | 'failed';
  attempts: number;
  /** When an executor takes it next: for an attempt, or because the lease is over. Null if it has ended. */
  dueAt: number | null;
  lease?: string;
  /** 1 if it is a mail. */
  mail?: number;
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

/** What the operator allows of mail. */
export interface MailPolicy {
  /** The public address of the hub, for the links in mails. */
  url: string;
  /** Recipients at these domains need not confirm. */
  domains: readonly string[];
  /** Mails of an account in an hour. */
  hourlyMax: number;
}
