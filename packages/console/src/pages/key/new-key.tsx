/** Creates a key, which is then shown once. */

import { useState } from 'preact/hooks';
import { addressOf, callJson } from '../../api/client.ts';
import {
  createKeyBodies,
  emptyKey,
  hasWrongNumber,
  type KeyForm,
  type PartProps,
  scopeGroups,
} from '../../state/key-form.ts';
import { keepKey, type ShownKey } from '../../state/shown-keys.ts';
import { editorOf } from '../../state/stored-query-editor.ts';
import { findNode, hubId, hubs } from '../../state/workspace.ts';
import { useAction } from '../../ui/action.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, Tick } from '../../ui/field.tsx';
import { moment } from '../../ui/format.ts';
import { ProblemBox } from '../../ui/problem.tsx';
import { webPage, withoutSecrets } from '../query/use/snippets.ts';
import { KeyLimits } from './key-limits.tsx';
import { type Names, validWords } from './key-words.ts';

/** Queries of other hubs have no name here. */
export const keyNames: Names = {
  hub: (id) => hubs.value?.find((one) => one.hubId === id)?.label ?? id,
  query: (id) => findNode(id)?.node.label ?? id,
};

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
  const { busy, problem, run } = useAction();
  const set = (change: Partial<KeyForm>) => setForm({ ...form, ...change });
  const [bodyOf] = useState(createKeyBodies);
  const submit = async (event: Event) => {
    event.preventDefault();
    await run(async () => {
      const { key } = await callJson<{ key: string }>('v1/keys', { body: bodyOf(form, endsBy) });
      onMade();
      onClose();
      keepKey(toShown(key, form), { isOpen: true });
    });
  };
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

/** The key with its page, if it is a browser key of one query. */
function toShown(secret: string, form: KeyForm): ShownKey {
  const key = { name: form.name.trim(), secret, note: validWords(form, keyNames) };
  const [queryId] = form.queryIds;
  if (queryId === undefined || form.origins.length === 0) return key;
  const pinned = new Set(form.pinned.map(([name]) => name));
  const editor = editorOf(queryId);
  const members = editor.sent.value.members.filter(([name]) => !pinned.has(name));
  const secrets = editor.fields.value.filter(({ secret }) => secret).map(({ key }) => key);
  const label = findNode(queryId)?.node.label ?? '';
  const call = { url: addressOf(''), queryId, label, members, columns: [], key: secret };
  return {
    ...key,
    page: {
      title: `In a page of ${form.origins.join(', ')}`,
      text: webPage(withoutSecrets(call, secrets)),
    },
  };
}
