/** The person who is signed in: name, roles by hub, sessions. */

import { useState } from 'preact/hooks';
import { callJson, callList } from '../../api/client.ts';
import { signOut } from '../../api/session.ts';
import type { Answer } from '../../api/types.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { Tick } from '../../ui/field.tsx';
import { counted, moment } from '../../ui/format.ts';
import { useLoad } from '../../ui/load.tsx';
import { Menu } from '../../ui/menu.tsx';
import { RoleTags } from './role-tags.tsx';

type OwnPerson = Answer<'GET /v1/people/current'>;

type Agent = Answer<'GET /v1/agents'>[number];

const readAgents = (signal: AbortSignal) => callList<Agent>('v1/agents', { signal });
const endAll = (withAgents: boolean) =>
  callJson(`v1/people/current/sessions?agents=${withAgents}`, { method: 'DELETE' }).then(signOut);

export function PersonMenu() {
  const { value: person } = useLoad((signal) => callJson<OwnPerson>('v1/people/current', { signal }), []);
  const [open, setOpen] = useState(false);
  if (person === undefined) return null;
  const items = [{ label: 'Roles and sessions …', run: () => setOpen(true) }];
  return (
    <>
      <Menu label="You" text={person.name} icon="down" items={items} />
      {open && <PersonDialog of={person} onClose={() => setOpen(false)} />}
    </>
  );
}

function PersonDialog({ of: person, onClose }: { of: OwnPerson; onClose(): void }) {
  const { personId, name, email, roles, sessions, groupsUntil, groups } = person;
  const { value: agents = [] } = useLoad(readAgents, []);
  const own = agents.filter((one) => one.person?.personId === personId);
  const [withAgents, setWithAgents] = useState(false);
  return (
    <FormDialog
      title={name}
      action="Sign out everywhere"
      danger
      onClose={onClose}
      onSubmit={() => endAll(withAgents)}
    >
      <p>
        {email !== null && <span>{email} · </span>}
        <RoleTags roles={roles} />
      </p>
      {groups.length > 0 && (
        <p class="hint">Your groups count until {moment(groupsUntil)}. Then sign in again.</p>
      )}
      <p>{counted(sessions.length, 'session', 'sessions')}:</p>
      <ul>
        {sessions.map(({ sessionId, createdAt, lastUsedAt, expiresAt }) => (
          <li key={sessionId}>
            since {moment(createdAt)}, last used {moment(lastUsedAt)}, ends {moment(expiresAt)}
          </li>
        ))}
      </ul>
      {own.length > 0 && (
        <Tick
          label={`Also disconnect ${counted(own.length, 'agent that acts', 'agents that act')} for you (${hostsOf(own)})`}
          checked={withAgents}
          onChange={setWithAgents}
        />
      )}
    </FormDialog>
  );
}

const hostsMax = 5;

function hostsOf(agents: readonly Agent[]): string {
  const hosts = [...new Set(agents.map(({ client }) => client.host))];
  return [...hosts.slice(0, hostsMax), ...(hosts.length > hostsMax ? ['…'] : [])].join(', ');
}
