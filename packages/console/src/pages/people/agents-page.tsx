/** The agents that act for whoever is signed in, or in the account, and the clients that an admin registered. */

import { useRef, useState } from 'preact/hooks';
import { call, callJson, callList, part } from '../../api/client.ts';
import type { Answer } from '../../api/types.ts';
import { may } from '../../state/permissions.ts';
import { CopyBlock } from '../../ui/copy-block.tsx';
import { Dialog, FormDialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { moment } from '../../ui/format.ts';
import { Listed } from '../../ui/listed.tsx';
import { useLoad } from '../../ui/load.tsx';
import { notify } from '../../ui/notice.tsx';
import { PageHead } from '../../ui/page.tsx';
import { ActionsHead, CardTable } from '../../ui/table.tsx';
import { hubsOf } from './role-tags.tsx';

type Agent = Answer<'GET /v1/agents'>[number];
type Client = Answer<'GET /v1/clients'>[number];

const readAgents = (signal: AbortSignal) => callList<Agent>('v1/agents', { signal });
const readClients = (signal: AbortSignal) => callList<Client>('v1/clients', { signal });

export function AgentsPage() {
  const agents = useLoad(readAgents, []);
  return (
    <div class="page">
      <PageHead title="Agents" />
      <p class="hint">
        An agent connects with the address {new URL('mcp', document.baseURI).href} alone, and can do what its
        person or key may do and what was allowed to it.
      </p>
      <section aria-label="Connected agents">
        <Listed of={agents} what="agents" empty="No agent is connected.">
          {(all) => <Agents all={all} onChange={agents.refresh} />}
        </Listed>
      </section>
      {may('keys:admin') && <Clients onChange={agents.refresh} />}
    </div>
  );
}

function Agents({ all, onChange }: { all: readonly Agent[]; onChange(): void }) {
  const remove = (agentId: string) => () =>
    call(`v1/agents/${part(agentId)}`, { method: 'DELETE' }).then(onChange, (err) => notify(err.message));
  return (
    <CardTable
      label="List of agents"
      names={['Agent', 'Acts for', 'May', 'Last used']}
      heads={<ActionsHead />}
    >
      {all.map(({ agentId, client, person, keyId, scopes, hubIds, lastUsedAt }) => (
        <tr key={agentId}>
          <td>
            <strong>{client.host}</strong>
            <div class="note">{client.name}</div>
          </td>
          <td data-name="Acts for">{person?.name ?? person?.personId ?? keyId}</td>
          <td data-name="May">
            {wordsOf(scopes)}
            <div class="note">{hubsOf(hubIds)}</div>
          </td>
          <td data-name="Last used" class="when">
            {moment(lastUsedAt)}
          </td>
          <td class="right">
            <button
              type="button"
              class="quiet"
              aria-label={`Disconnect ${client.host}`}
              onClick={remove(agentId)}
            >
              Disconnect
            </button>
          </td>
        </tr>
      ))}
    </CardTable>
  );
}

const words: Record<string, string> = {
  '*': 'all that the person may do',
  'queries:execute': 'read',
  'queries:execute:write': 'change data',
  'classifiers:predict': 'classify',
  'ai:summarize': 'summarize',
};
const wordsOf = (scopes: readonly string[]): string => scopes.map((one) => words[one] ?? one).join(', ');

function Clients({ onChange }: { onChange(): void }) {
  const clients = useLoad(readClients, []);
  const [isRegistering, setRegistering] = useState(false);
  const readAgain = () => {
    clients.refresh();
    onChange();
  };
  return (
    <section class="apart" aria-label="Clients">
      <h2>Registered clients</h2>
      <p class="hint">
        Most programs describe themselves at an address, and need no registration. Register a client for a
        program that asks for an id and a secret.
      </p>
      <Listed of={clients} what="clients" empty="No client is registered.">
        {(all) => <ClientList all={all} onChange={readAgain} />}
      </Listed>
      <div class="actions-below">
        <button type="button" onClick={() => setRegistering(true)}>
          Register a client
        </button>
      </div>
      {isRegistering && <Register onClose={() => setRegistering(false)} onDone={readAgain} />}
    </section>
  );
}

function ClientList({ all, onChange }: { all: readonly Client[]; onChange(): void }) {
  const [removed, setRemoved] = useState<Client>();
  return (
    <>
      <CardTable
        label="List of clients"
        names={['Client', 'Redirect addresses', 'Since']}
        heads={<ActionsHead />}
      >
        {all.map((client) => (
          <tr key={client.clientId}>
            <td>
              <strong>{client.name}</strong>
              <div class="note">{client.dynamic ? 'registered itself' : client.clientId}</div>
            </td>
            <td data-name="Redirect addresses">{client.redirectUris.join(', ')}</td>
            <td data-name="Since" class="when">
              {moment(client.createdAt)}
            </td>
            <td class="right">
              <button
                type="button"
                class="quiet"
                aria-label={`Delete ${client.name}`}
                onClick={() => setRemoved(client)}
              >
                Delete …
              </button>
            </td>
          </tr>
        ))}
      </CardTable>
      {removed !== undefined && (
        <FormDialog
          title={`Delete “${removed.name}”?`}
          action="Delete the client"
          danger
          onClose={() => setRemoved(undefined)}
          onSubmit={() => call(`v1/clients/${part(removed.clientId)}`, { method: 'DELETE' }).then(onChange)}
        >
          <p>Its agents are disconnected, and its id and secret do not work any more.</p>
        </FormDialog>
      )}
    </>
  );
}

function Register({ onClose, onDone }: { onClose(): void; onDone(): void }) {
  const [name, setName] = useState('');
  const [address, setAddress] = useState('');
  const [made, setMade] = useState<Answer<'POST /v1/clients'>>();
  const isMade = useRef(false);
  if (made !== undefined) return <Registered client={made} onClose={onClose} />;
  const submit = async () => {
    const body = { name: name.trim(), redirectUris: address.split(/\s+/).filter((uri) => uri !== '') };
    setMade(await callJson<Answer<'POST /v1/clients'>>('v1/clients', { body }));
    // The secret is shown instead of the form.
    isMade.current = true;
    onDone();
  };
  return (
    <FormDialog
      title="Register a client"
      action="Register"
      disabled={name.trim() === '' || address.trim() === ''}
      onClose={() => isMade.current || onClose()}
      onSubmit={submit}
    >
      <Field label="Name" value={name} onInput={setName} required autofocus />
      <Field
        label="Redirect address"
        hint="Where the program takes answers, as it says: with https, or with http on the computer of the person. Separate several by spaces."
        value={address}
        onInput={setAddress}
        required
      />
    </FormDialog>
  );
}

function Registered({ client, onClose }: { client: Answer<'POST /v1/clients'>; onClose(): void }) {
  return (
    <Dialog title={`“${client.name}” is registered`} onClose={onClose}>
      <p>Enter both in the program. The secret is shown only now, and the hub does not store it.</p>
      <h3>Client ID</h3>
      <CopyBlock label="Client ID" text={client.clientId} />
      <h3>Client secret</h3>
      <CopyBlock label="Client secret" text={client.clientSecret} />
      <div class="actions">
        <button type="button" class="primary" onClick={onClose}>
          I have copied both
        </button>
      </div>
    </Dialog>
  );
}
