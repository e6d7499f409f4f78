/** The documents of people, their sessions, and what they are granted. */

import type { Role } from '@datahub/contract/roles';
import type { Doc } from '@datahub/document-store';
import type { Dated } from '../documents.ts';

export interface PersonDoc extends Doc, Dated {
  /** Of the provider. The issuer and the subject identify the person. */
  issuer: string;
  subject: string;
  /** A digest of both, unique in the account. */
  identity: string;
  name: string;
  /** Only if the provider has verified it, in lower case. */
  email?: string;
  /** Those of the last sign-in or refresh. */
  groups: string[];
  signedInAt: number;
  /** Until then, the groups count. */
  confirmedUntil: number;
  /** With which the gateway asks the provider again, in base64, sealed by the gateway. */
  refreshToken?: string;
  /** When it does so; null for never. */
  refreshAt: number | null;
  /** 1 if the provider no longer knows the person, until the next sign-in. */
  ended?: 1;
  /** 1 if an admin keeps the person out. */
  disabled?: 1;
}

/** A session is a key of a person that only a cookie holds. */
export interface SessionDoc extends Doc {
  /** SHA-256 of the key in hexadecimal. */
  hash: string;
  personId: string;
  /** The provider's name of its own session. */
  providerSession?: string;
  createdAt: number;
  expiresAt: number;
  lastUsedAt: number;
}

export const whoKinds = ['group', 'email', 'subject'] as const;
export type WhoKind = (typeof whoKinds)[number];

export interface GrantDoc extends Doc {
  who: { kind: WhoKind; value: string };
  role: Role;
  /** Absent for all hubs. */
  hubIds?: string[];
  /** A digest of what it says, unique in the account. Older releases stored none. */
  content?: string;
  createdAt: number;
}
