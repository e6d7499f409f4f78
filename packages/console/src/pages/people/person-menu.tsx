/** The person who is signed in: name, roles by hub, sessions. */

import { useState } from 'preact/hooks';
import { callJson } from '../../api/client.ts';
import { signOut } from '../../api/session.ts';
import type { Answer } from '../../api/types.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { counted, moment } from '../../ui/format.ts';
import { useLoad } from '../../ui/load.tsx';
import { Menu } from '../../ui/menu.tsx';
import { RoleTags } from './role-tags.tsx';

type OwnPerson = Answer<'GET /v1/people/current'>;

const endAll = () => callJson('v1/people/current/sessions', { method: 'DELETE' }).then(signOut);

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
  const { name, email, roles, sessions, groupsUntil, groups } = person;
  return (
    <FormDialog title={name} action="Sign out everywhere" danger onClose={onClose} onSubmit={endAll}>
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
    </FormDialog>
  );
}
