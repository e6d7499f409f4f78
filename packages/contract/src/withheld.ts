/**
 * What `hubIds`, `queryIds`, `queries` and `classifierIds` of a key take from its scopes: what belongs to the account as
 * a whole, and changes of what its queries are in. The services enforce it; keys and the log of the catalog show it.
 */

import { isOfQueries, type KeyLimitValues } from './key-limits.ts';
import { isGranted, type Scope } from './scopes.ts';

export interface Withheld {
  scope: Scope;
  limit: 'hubIds' | 'queryIds' | 'queries' | 'classifierIds';
  /** What the key cannot do, such as "create, rename and delete classifiers". */
  detail: string;
}

type Limits = Pick<KeyLimitValues, 'hubIds' | 'queryIds' | 'queries' | 'classifierIds'>;

const has = (ids: readonly string[] | undefined): boolean => ids !== undefined && ids.length > 0;

/** True for a key that is limited to hubs or queries. */
export const isConfined = (limits: Limits): boolean => has(limits.hubIds) || isOfQueries(limits);

/** Whether the key may train a classifier, and read and change its examples. */
export const mayTrain = (limits: Limits, classifierId: string): boolean =>
  has(limits.classifierIds) ? limits.classifierIds?.includes(classifierId) === true : !isConfined(limits);

/** Whether the key may create, rename and delete classifiers, and delete classes. */
export const mayManageClassifiers = (limits: Limits): boolean =>
  !isConfined(limits) && !has(limits.classifierIds);

export function withheldOf({ scopes, limits }: { scopes: readonly string[]; limits: Limits }): Withheld[] {
  const isLimited = isOfQueries(limits);
  const named = (['queries', 'queryIds', 'hubIds'] as const).find((name) => has(limits[name]));
  const limit = named ?? 'classifierIds';
  const others = 'classifiers that limits.classifierIds does not list';
  const found: [Scope, boolean, string][] = [
    ['hubs:write', isLimited, 'change hubs and folders'],
    ['sources:write', isLimited, 'change sources'],
    [
      'classifiers:write',
      !mayManageClassifiers(limits),
      'create, rename and delete classifiers, and delete classes',
    ],
    ['classifiers:train', !mayManageClassifiers(limits), `train ${others}, and change their examples`],
    ['classifiers:read', !mayManageClassifiers(limits), `read the examples of ${others}`],
    ['watches:write', isLimited, 'have or run watches'],
    ['destinations:write', isLimited, 'have destinations'],
    ['watches:read', isLimited, 'read events, and the runs of whole hubs with their rows'],
    ['keys:read', isConfined(limits), 'see keys that it did not create'],
    [
      'keys:admin',
      isConfined(limits),
      `change keys that it did not create, and read the audit beyond its ${isLimited ? 'queries' : 'hubs'}`,
    ],
  ];
  return found.flatMap(([scope, isWithheld, detail]) =>
    isWithheld && isGranted(scopes, scope) ? [{ scope, limit, detail }] : [],
  );
}
