/** Creates a key and shows it once. */

import { useState } from 'preact/hooks';
import { addressOf, callJson } from '../../api/client.ts';
import {
  bodyOf,
  emptyKey,
  hasWrongNumber,
  type KeyForm,
  type PartProps,
  scopeGroups,
} from '../../state/key-form.ts';
import { editorOf } from '../../state/stored-query-editor.ts';
import { findNode, hub, hubId } from '../../state/workspace.ts';
import { useAction } from '../../ui/action.ts';
import { CopyBlock } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, Tick } from '../../ui/field.tsx';
import { moment } from '../../ui/format.ts';
import { ProblemBox } from '../../ui/problem.tsx';
import { webPage, withoutSecrets } from '../query/use/snippets.ts';
import { KeyLimits } from './key-limits.tsx';

interface NewKeyProps {
  /** Set for a browser key of one query. */
  queryId?: string | undefined;
  /** The expiry of the key of this tab, if it expires. */
  endsBy: string | undefined;
  onMade(): void;
  onClose(): void;
}

function startOf(queryId: string | undefined): KeyForm {
  const form = emptyKey(hubId.value ?? '');
  if (queryId === undefined) return form;
  const label = findNode(queryId)?.node.label ?? 'a query';
  return { ...form, name: `Browser: ${label}`, queryIds: [queryId], hubIds: [] };
}

export function NewKey({ queryId, endsBy, onMade, onClose }: NewKeyProps) {
  const [form, setForm] = useState(() => startOf(queryId));
  const [made, setMade] = useState<string>();
  const { busy, problem, run } = useAction();
  const set = (change: Partial<KeyForm>) => setForm({ ...form, ...change });
  const submit = async (event: Event) => {
    event.preventDefault();
    await run(async () => {
      const { key } = await callJson<{ key: string }>('v1/keys', {
        body: bodyOf(form, Date.now(), endsBy),
      });
      setMade(key);
      onMade();
    });
  };
  if (made !== undefined) return <MadeKey secret={made} form={form} onClose={onClose} />;
  return (
    <Dialog title={queryId === undefined ? 'New key' : 'New browser key'} onClose={onClose} wide>
      <form class="form" onSubmit={submit}>
        <Field
          label="Name"
          value={form.name}
          onInput={(name) => set({ name })}
          required
          autofocus
          hint="The person or program that uses it."
        />
        <Scopes form={form} set={set} />
        <KeyLimits form={form} set={set} end="no end" />
        {endsBy !== undefined && (
          <p class="banner">
            The key that you signed in with expires on {moment(endsBy)}, and keys that it creates expire no
            later. To create a key that does not expire, sign in with such a key, for example the hub’s first
            key.
          </p>
        )}
        {problem !== undefined && <ProblemBox problem={problem} />}
        <div class="actions">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button
            type="submit"
            class="primary"
            disabled={
              busy ||
              form.name.trim() === '' ||
              hasWrongNumber(form) ||
              (form.scopes.length === 0 && !form.everything)
            }
          >
            Create key
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function Scopes({ form, set }: PartProps) {
  const toggle = (scope: string, on: boolean) =>
    set({ scopes: on ? [...form.scopes, scope] : form.scopes.filter((one) => one !== scope) });
  return (
    <>
      <Tick
        label="Everything (*): for administrators only"
        checked={form.everything}
        onChange={(everything) => set({ everything })}
      />
      {!form.everything && (
        <div class="scopes">
          {scopeGroups.map(({ title, scopes }) => (
            <fieldset key={title}>
              <legend>{title}</legend>
              {scopes.map(([scope, words]) => (
                <Tick
                  key={scope}
                  label={words}
                  checked={form.scopes.includes(scope)}
                  onChange={(on) => toggle(scope, on)}
                />
              ))}
            </fieldset>
          ))}
        </div>
      )}
    </>
  );
}

function MadeKey({ secret, form, onClose }: { secret: string; form: KeyForm; onClose(): void }) {
  const [queryId] = form.queryIds;
  const pinned = new Set(form.pinned.map(([name]) => name));
  const editor = queryId === undefined ? undefined : editorOf(queryId);
  const members = editor?.sent.value.members.filter(([name]) => !pinned.has(name)) ?? [];
  const secrets = editor?.fields.value.filter(({ secret }) => secret).map(({ key }) => key) ?? [];
  return (
    <Dialog title="The key, shown only now" onClose={onClose} wide>
      <p>
        Copy it to where it is used. The hub does not store it, so it cannot show it again. If you lose it,
        revoke it and create another.
      </p>
      <CopyBlock text={secret} label="The key" />
      {queryId !== undefined && form.origins.length > 0 && (
        <>
          <h3>In a page of {form.origins.join(', ')}</h3>
          <CopyBlock
            text={webPage(
              withoutSecrets(
                {
                  url: addressOf(''),
                  queryId,
                  label: findNode(queryId)?.node.label ?? '',
                  members,
                  columns: [],
                  key: secret,
                },
                secrets,
              ),
            )}
            label="Web page"
          />
        </>
      )}
      <p class="hint">Valid for {hub.value?.label ?? 'its hub'}, within its limits.</p>
      <div class="actions">
        <button type="button" class="primary" onClick={onClose}>
          I have copied it
        </button>
      </div>
    </Dialog>
  );
}
