/** What a key may do, in words. */

import { toText } from '../../api/exact.ts';
import type { Key } from '../../api/types.ts';
import type { KeyForm } from '../../state/key-form.ts';
import { count, counted } from '../../ui/format.ts';

/** Names of hubs and of queries by their ids. */
export interface Names {
  hub(hubId: string): string;
  query(queryId: string): string;
}

/** What limits the key; none if nothing does. */
export function limitWords({ limits }: Pick<Key, 'limits'>, names: Names): string[] {
  const { hubIds, queryIds, queries, classifierIds, origins, context, user, ratePerMinute, maxRows, strict } =
    limits;
  const words = [
    hubIds && `hub ${hubIds.map(names.hub).join(', ')}`,
    queryIds && queryWords(queryIds.map(names.query)),
    queries && queryWords(queries),
    classifierIds && `${counted(classifierIds.length, 'classifier')} to train`,
    origins && `pages of ${origins.join(', ')}`,
    context &&
      Object.entries(context)
        .map(([name, value]) => `${name} = ${toText(value)}`)
        .join(', '),
    user && `signed-in users of ${user.issuer}`,
    user?.public && `${queryWords(user.public.map(names.query))} without their claims`,
    user?.ratePerMinute && `${counted(user.ratePerMinute, 'request')} a minute for each of them`,
    ratePerMinute && `${counted(ratePerMinute, 'request')} a minute`,
    maxRows && `${counted(maxRows, 'row')} a response`,
    strict && 'no unknown variables',
  ];
  return words.filter((word) => typeof word === 'string');
}

const queryWords = (names: readonly string[]): string =>
  `${names.length === 1 ? 'query' : 'queries'} ${names.join(', ')}`;

/** Where a new key is valid. */
export function validWords({ hubIds, queryIds, queries }: KeyForm, names: Pick<Names, 'hub'>): string {
  const chosen = queryIds.length + queries.length;
  const inHubs = hubIds.length === 0 ? '' : ` in ${hubIds.map(names.hub).join(', ')}`;
  if (chosen > 0)
    return `Valid for ${count(chosen)} ${chosen === 1 ? 'query' : 'queries'}${inHubs}, within its limits.`;
  return inHubs === '' ? 'Valid for all hubs, within its limits.' : `Valid${inHubs}, within its limits.`;
}
