/** The documents of OAuth: the clients that are registered, and the agents that act for a person or a key. */

import type { Audience } from '@datahub/contract/people/oauth';
import type { Doc } from '@datahub/document-store';

export interface ClientDoc extends Doc {
  /** The id once more, because clients do not say to which account they belong. */
  clientId: string;
  name: string;
  redirectUris: string[];
  /** SHA-256 of its secret in hexadecimal; absent if it registered itself. */
  secretHash?: string;
  /** 1 if it registered itself. Then every account may use it. */
  dynamic: 0 | 1;
  /** From where it registered itself; absent if an admin did, or a release before this member. */
  network?: string;
  createdAt: number;
  /** Null for never. */
  expiresAt: number | null;
}

/**
 * What one consent gave: first a code, then an access token and a refresh token that replace one another. All of them name
 * the agent by its handle. So a code or a refresh token that was used before is known as such, and the agent ends.
 */
export interface AgentDoc extends Doc {
  /** SHA-256 of the handle in hexadecimal, like the other digests. */
  handle: string;
  /** Of the access token. Of no token before the code is used. */
  accessHash: string;
  accessUntil: number;
  /** Of the secret of the code, and later of the refresh token. */
  secretHash: string;
  /** What the code needs; absent after its use. */
  code?: { challenge: string; redirectUri: string };
  clientId: string;
  clientName: string;
  clientHost: string;
  audience: Audience;
  scopes: string[];
  /** Absent for all hubs. */
  hubIds?: string[];
  /** The key or the person for whom it acts, with all changes of what these may do. */
  keyId: string;
  personId?: string;
  createdAt: number;
  lastUsedAt: number;
  expiresAt: number;
}
