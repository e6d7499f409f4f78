/** Messages of people, sessions and grants. */

import type { Complete } from '@datahub/contract/complete';
import type { PeopleGrant, Person, PersonSession } from '@datahub/proto/catalog/v1/people';
import type { GrantDoc, PersonDoc, SessionDoc } from './documents.ts';
import { rolesOf, stateOf } from './person.ts';

export function toPerson(person: PersonDoc, grants: readonly GrantDoc[], nowMs: number): Complete<Person> {
  const { id, issuer, subject, name, email, groups } = person;
  const roles = rolesOf(person, grants, nowMs);
  return {
    ...{ personId: id, issuer, subject, name, email, groups },
    state: stateOf(person),
    roles: roles.map(({ role, hubIds = [], hubsLeftOut = 0 }) => ({
      role,
      hubIds: [...hubIds],
      hubsLeftOut,
    })),
    createdAt: new Date(person.createdAt),
    signedInAt: new Date(person.signedInAt),
    confirmedUntil: new Date(person.confirmedUntil),
    version: person.version,
  };
}

export const toSession = ({ id, createdAt, expiresAt, lastUsedAt }: SessionDoc): Complete<PersonSession> => ({
  sessionId: id,
  createdAt: new Date(createdAt),
  expiresAt: new Date(expiresAt),
  lastUsedAt: new Date(lastUsedAt),
});

export const toGrant = ({ id, who, role, hubIds = [], createdAt }: GrantDoc): Complete<PeopleGrant> => ({
  grantId: id,
  who,
  role,
  hubIds,
  createdAt: new Date(createdAt),
});
