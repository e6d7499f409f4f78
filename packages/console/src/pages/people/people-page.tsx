/** The people who have signed in, and the grants that give them roles. */

import { useState } from 'preact/hooks';
import { addressOf, call, callJson, callList, part } from '../../api/client.ts';
import type { Answer } from '../../api/types.ts';
import { needs } from '../../state/permissions.ts';
import { go } from '../../state/route.ts';
import { hubId, hubs } from '../../state/workspace.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { Choice, Field } from '../../ui/field.tsx';
import { count, moment } from '../../ui/format.ts';
import { Listed } from '../../ui/listed.tsx';
import { useLoad } from '../../ui/load.tsx';
import { Menu } from '../../ui/menu.tsx';
import { notify } from '../../ui/notice.tsx';
import { PageHead } from '../../ui/page.tsx';
import { ActionsHead, CardTable } from '../../ui/table.tsx';
import { hubsOf, RoleTags } from './role-tags.tsx';

type Person = Answer<'GET /v1/people'>[number];
type Grant = Answer<'GET /v1/grants'>[number];

const readGrants = (signal: AbortSignal) => callList<Grant>('v1/grants', { signal });
const readPeople = (signal: AbortSignal) => callList<Person>('v1/people', { signal });
/** False if there is no provider at which people sign in. */
async function readProvider(signal: AbortSignal): Promise<boolean> {
  const response = await fetch(addressOf('readyz'), { signal, cache: 'no-store' });
  const { status, signIn } = await response.json();
  return status !== 'ready' || signIn !== undefined;
}

export function PeoplePage() {
  const grants = useLoad(readGrants, []);
  const people = useLoad(readPeople, []);
  const provider = useLoad(readProvider, []);
  const [isGranting, setGranting] = useState(false);
  const readAgain = () => {
    grants.refresh();
    people.refresh();
  };
  return (
    <div class="page">
      <PageHead title="People">
        <button type="button" class="primary" onClick={() => setGranting(true)} {...needs('keys:admin')}>
          Give a role
        </button>
      </PageHead>
      <p class="hint">
        Grants give roles to groups and people of the provider at which people sign in. In each hub the
        highest role counts.
        {provider.value === false &&
          ' Nobody can sign in yet: whoever runs the hub sets a provider with DATAHUB_OIDC_ISSUER.'}
      </p>
      <section aria-label="Grants">
        <h2>Grants</h2>
        <Listed of={grants} what="grants" empty="Nobody has a role yet.">
          {(all) => <Grants all={all} onChange={readAgain} />}
        </Listed>
      </section>
      <section class="apart" aria-label="People">
        <h2>Who has signed in</h2>
        {people.problem?.code === 'SCOPE_DENIED' ? (
          <p class="empty">Only admins of all hubs see who has signed in.</p>
        ) : (
          <Listed of={people} what="people" empty="Nobody has signed in yet.">
            {(all) => <People all={all} onChange={readAgain} />}
          </Listed>
        )}
      </section>
      {isGranting && <GiveRole onClose={() => setGranting(false)} onDone={readAgain} />}
    </div>
  );
}

function Grants({ all, onChange }: { all: readonly Grant[]; onChange(): void }) {
  const remove = (grantId: string) => () =>
    call(`v1/grants/${part(grantId)}`, { method: 'DELETE' }).then(onChange, (err) => notify(err.message));
  return (
    <CardTable label="List of grants" names={['Who', 'Role', 'Hubs']} heads={<ActionsHead />}>
      {all.map(({ grantId, who, role, hubIds }) => {
        const [[kind, name] = ['', '']] = Object.entries(who);
        return (
          <tr key={grantId}>
            <td>
              <strong>{String(name)}</strong>
              <div class="note">{kinds.find(([one]) => one === kind)?.[1]}</div>
            </td>
            <td data-name="Role">{role}</td>
            <td data-name="Hubs">{hubsOf(hubIds)}</td>
            <td class="right">
              <button type="button" class="quiet" onClick={remove(grantId)} {...needs('keys:admin')}>
                Take away
              </button>
            </td>
          </tr>
        );
      })}
    </CardTable>
  );
}

const states: Record<Person['state'], string> = {
  active: '',
  paused: 'has to sign in again',
  disabled: 'disabled',
};

function People({ all, onChange }: { all: readonly Person[]; onChange(): void }) {
  return (
    <CardTable
      label="List of people"
      names={['Name', 'Roles', 'Groups', 'Last sign-in']}
      heads={<ActionsHead />}
    >
      {all.map((person) => (
        <PersonRow key={person.personId} of={person} onChange={onChange} />
      ))}
    </CardTable>
  );
}

const groupsShown = 5;

/** A person can be in a thousand groups with long names. */
function Groups({ all }: { all: readonly string[] }) {
  const [isOpen, setOpen] = useState(false);
  const shown = isOpen ? all : all.slice(0, groupsShown);
  const left = all.length - shown.length;
  return (
    <>
      {shown.join(', ')}
      {left > 0 && (
        <>
          {' '}
          <button type="button" class="quiet" onClick={() => setOpen(true)}>
            and {count(left)} more
          </button>
        </>
      )}
    </>
  );
}

function PersonRow({ of: person, onChange }: { of: Person; onChange(): void }) {
  const [isRemoving, setRemoving] = useState(false);
  const { personId, name, email, subject, state, roles, groups, signedInAt } = person;
  const address = `v1/people/${part(personId)}`;
  const change = (sent: Promise<unknown>) => sent.then(onChange, (err) => notify(err.message));
  const setDisabled = (disabled: boolean) => change(call(address, { method: 'PUT', body: { disabled } }));
  return (
    <tr>
      <td>
        <strong>{name}</strong>
        <div class="note">{email ?? subject}</div>
        {states[state] !== '' && <div class="note">{states[state]}</div>}
      </td>
      <td data-name="Roles">
        <RoleTags roles={roles} />
      </td>
      <td data-name="Groups">
        <Groups all={groups} />
      </td>
      <td data-name="Last sign-in" class="when">
        {moment(signedInAt)}
        {isRemoving && (
          <FormDialog
            title={`Remove “${name}”?`}
            action="Remove the person"
            danger
            onClose={() => setRemoving(false)}
            onSubmit={() => call(address, { method: 'DELETE' }).then(onChange)}
          >
            <p>
              Sessions, agents and keys of the person end within five seconds, except keys that were handed to
              the hub. Who still has a role can sign in again.
            </p>
          </FormDialog>
        )}
      </td>
      <td class="right">
        <Menu
          label={`Actions for ${name}`}
          items={[
            { label: 'Audit', run: () => go('hub', hubId.value ?? '', 'audit', 'person', personId) },
            {
              label: 'Sign out everywhere',
              run: () => change(call(`${address}/sessions`, { method: 'DELETE' })),
            },
            {
              label: 'Sign out everywhere and disconnect agents',
              run: () => change(call(`${address}/sessions?agents=true`, { method: 'DELETE' })),
            },
            state === 'disabled'
              ? { label: 'Enable', run: () => setDisabled(false) }
              : { label: 'Disable', danger: true, run: () => setDisabled(true) },
            { label: 'Remove …', danger: true, run: () => setRemoving(true) },
          ]}
        />
      </td>
    </tr>
  );
}

const kinds = [
  ['group', 'group'],
  ['email', 'e-mail address'],
  ['subject', 'subject (the id at the provider)'],
] as const;
const roles = [
  ['viewer', 'viewer: reads, executes queries that read'],
  ['editor', 'editor: also changes queries, trains, executes writes'],
  ['admin', 'admin: also sources, keys, people, audit'],
] as const;

function GiveRole({ onClose, onDone }: { onClose(): void; onDone(): void }) {
  const [kind, setKind] = useState('group');
  const [name, setName] = useState('');
  const [role, setRole] = useState('viewer');
  const [where, setWhere] = useState('');
  const submit = async () => {
    const body = { who: { [kind]: name.trim() }, role, ...(where === '' ? {} : { hubIds: [where] }) };
    await callJson('v1/grants', { body });
    onDone();
  };
  const options = [
    ['', 'all hubs'] as const,
    ...(hubs.value ?? []).map((one) => [one.hubId, one.label] as const),
  ];
  return (
    <FormDialog
      title="Give a role"
      action="Give the role"
      disabled={name.trim() === ''}
      onClose={onClose}
      onSubmit={submit}
    >
      <Choice label="To a" value={kind} options={kinds} onChange={setKind} />
      <Field label="Its name" value={name} onInput={setName} required autofocus />
      <Choice label="Role" value={role} options={roles} onChange={setRole} />
      <Choice label="In" value={where} options={options} onChange={setWhere} />
    </FormDialog>
  );
}
