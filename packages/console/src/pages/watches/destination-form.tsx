/** Makes or changes a destination. */

import { eventTypes } from '@datahub/contract/watches';
import { useRef, useState } from 'preact/hooks';
import { callJson, part } from '../../api/client.ts';
import { useChangedForm } from '../../ui/changed-form.tsx';
import { CopyBlock } from '../../ui/copy-block.tsx';
import { Dialog, FormDialog } from '../../ui/dialog.tsx';
import { Choice, Field } from '../../ui/field.tsx';
import { Chosen } from '../key/chosen.tsx';
import type { Destination } from './words.ts';

const kinds = [
  ['webhook', 'Webhook, signed'],
  ['slack', 'Webhook of a chat product'],
  ['mail', 'Mail'],
] as const;
type Kind = (typeof kinds)[number][0];

const kindOf = ({ kind, template }: Destination): Kind => (template === 'slack' ? 'slack' : kind);

interface DestinationFields {
  label: string;
  address: string;
  events: readonly string[];
}

const formOf = ({ label, url, mailTo, events }: Destination): DestinationFields => ({
  label,
  address: mailTo ?? url ?? '',
  events: events ?? [],
});

const names = { label: 'Name', address: 'Address', events: 'Events that it is told' };

export const destinationPath = (destinationId: string): string => `v1/destinations/${part(destinationId)}`;

/** What a request that changes it sends. */
export const settingsOf = ({ label, url, mailTo, template, hubIds, events, disabled }: Destination) => ({
  ...{ label, hubIds, events, disabled },
  ...(mailTo === undefined ? { url, template } : { mailTo }),
});

/** A secret, which is shown once. */
export function SecretDialog({ secret, onClose }: { secret: string; onClose(): void }) {
  return (
    <Dialog title="The secret of the destination" onClose={onClose}>
      <p>Its receiver verifies signatures with this secret. It is shown only now.</p>
      <CopyBlock label="Secret" text={secret} />
    </Dialog>
  );
}

interface DestinationFormProps {
  /** The destination to change; absent for a new one of the hub. */
  of?: Destination;
  hubId: string;
  onDone(): void;
  onClose(): void;
}

export function DestinationForm({ of: one, hubId, onDone, onClose }: DestinationFormProps) {
  const [kind, setKind] = useState<Kind>(one === undefined ? 'webhook' : kindOf(one));
  const changed = useChangedForm<Destination, DestinationFields>({
    path: destinationPath(one?.destinationId ?? ''),
    first: one === undefined ? { label: '', address: '', events: [] } : formOf(one),
    formOf,
    names,
  });
  const { label, address, events } = changed.form;
  const [secret, setSecret] = useState<string>();
  const showsSecret = useRef(false);
  if (secret !== undefined) return <SecretDialog secret={secret} onClose={onClose} />;
  const isMail = kind === 'mail';
  const save = async () => {
    const place = isMail ? { mailTo: address } : { url: address };
    const template = kind === 'slack' ? { template: 'slack' } : {};
    const body = { label, events, ...place, ...template };
    if (one !== undefined) {
      await changed.save((now) => ({ ...settingsOf(now), ...body }));
      return onDone();
    }
    const made = await callJson<{ secret?: string }>('v1/destinations', {
      body: { ...body, hubIds: [hubId] },
    });
    onDone();
    // The secret is shown instead of the form.
    showsSecret.current = kind === 'webhook';
    if (showsSecret.current) setSecret(made.secret);
  };
  return (
    <FormDialog
      title={one === undefined ? 'New destination' : `Edit “${one.label}”`}
      action={one === undefined ? 'Create' : 'Save'}
      disabled={label === '' || address === ''}
      onClose={() => showsSecret.current || onClose()}
      onSubmit={save}
      onTheirs={changed.takeTheirs}
    >
      {one === undefined && (
        <Choice label="Kind" value={kind} options={kinds} onChange={(next) => setKind(next as Kind)} />
      )}
      <Field
        label={names.label}
        value={label}
        onInput={(next) => changed.set({ label: next })}
        required
        autofocus
      />
      <Field
        label={isMail ? 'Mail address' : names.address}
        value={address}
        onInput={(next) => changed.set({ address: next })}
        required
        hint={isMail ? 'The recipient must agree before anything is sent.' : undefined}
      />
      <Chosen
        label={names.events}
        everything="Only those of watches that name it"
        add="Add a type of event …"
        ids={[...events]}
        options={eventTypes.map((type) => [type, type] as const)}
        onChange={(next) => changed.set({ events: next })}
      />
    </FormDialog>
  );
}
