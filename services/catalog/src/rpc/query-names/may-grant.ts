/** Who may give a query or hub a path that counts in `limits.queries` of keys. */

import { isReadingCommand } from '@datahub/contract/commands';
import { fieldOf, type KeyLimit, keyLimitNames } from '@datahub/contract/key-limits';
import { isGranted } from '@datahub/contract/scopes';
import type { Principal } from '@datahub/proto/common/v1/principal';
import type { QueryDoc } from '../../documents.ts';
import { fromLimits } from '../to-proto.ts';

/** These do not narrow what a key reads from queries. */
const harmless: readonly KeyLimit[] = ['classifierIds', 'ratePerMinute', 'strict'];

/** Whether the caller may create keys that execute the query, with no limit to its rows, values or users. */
export const mayGrantQuery = (principal: Principal, query: Pick<QueryDoc, 'hubId' | 'command'>): boolean =>
  grantsOf(principal).some(
    ({ scopes, limits }) =>
      mayCreateKeys(scopes, { writing: !isReadingCommand(query.command) }) &&
      hasOnly(limits, ['hubIds', ...harmless]) &&
      (limits === undefined || limits.hubIds.length === 0 || limits.hubIds.includes(query.hubId)),
  );

/** The same for all queries of the account, because another hub may have had the path. */
export const mayGrantHub = (principal: Principal): boolean =>
  grantsOf(principal).some(
    ({ scopes, limits }) => mayCreateKeys(scopes, { writing: true }) && hasOnly(limits, harmless),
  );

const grantsOf = (principal: Principal): Pick<Principal, 'scopes' | 'limits'>[] =>
  principal.person?.grants ?? [principal];

const mayCreateKeys = (scopes: readonly string[], { writing }: { writing: boolean }): boolean =>
  isGranted(scopes, 'keys:admin') &&
  isGranted(scopes, 'queries:execute') &&
  (!writing || isGranted(scopes, 'queries:execute:write'));

function hasOnly(limits: Principal['limits'], allowed: readonly KeyLimit[]): boolean {
  const set = fromLimits(limits);
  return keyLimitNames.every((limit) => set[fieldOf(limit)] === undefined || allowed.includes(limit));
}
