/** Principals and documents for the tests of the catalog's rules. */

import type { Principal } from '@datahub/proto/common/v1/principal';
import type { HubDoc } from '../src/documents.ts';

export function principalOf(
  accountId: string,
  limits: { hubIds?: string[]; queryIds?: string[] } = {},
): Principal {
  return {
    accountId,
    keyId: 'k',
    scopes: ['*'],
    limits: { hubIds: [], queryIds: [], origins: [], contextJson: '', ...limits },
  };
}

/** The fields that queries and sources share. */
export const leaf = (of: HubDoc, id: string) => ({
  id,
  accountId: of.accountId,
  version: 1,
  hubId: of.id,
  parentNodeId: of.queriesNodeId,
  label: 'x',
  createdAt: 1,
  updatedAt: null,
});
