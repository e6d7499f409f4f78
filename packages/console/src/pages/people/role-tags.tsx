/** Roles with the hubs in which each counts. */

import { hubs } from '../../state/workspace.ts';

interface HeldRole {
  role: string;
  hubIds: string[] | null;
  hubsLeftOut: number;
}

const labelOf = (id: string) => hubs.value?.find(({ hubId }) => hubId === id)?.label ?? id;

export const hubsOf = (hubIds: string[] | null): string =>
  hubIds === null ? 'all hubs' : hubIds.map(labelOf).join(', ');

export function RoleTags({ roles }: { roles: HeldRole[] }) {
  if (roles.length === 0) return <span class="note">no role</span>;
  return (
    <>
      {roles.map(({ role, hubIds, hubsLeftOut }) => (
        <span key={role} class="tag">
          {role} in {hubsOf(hubIds)}
          {hubsLeftOut > 0 && `, and not in ${hubsLeftOut} more that were granted`}
        </span>
      ))}
    </>
  );
}
