/** The keys of the account: what each may do, its usage, creation, changes, rotation and revocation. */

import { useState } from 'preact/hooks';
import { call, callJson, callList, part } from '../../api/client.ts';
import { signOut } from '../../api/session.ts';
import type { Key, ListedKey } from '../../api/types.ts';
import { changeOf, formOf, hasWrongNumber, type KeyForm } from '../../state/key-form.ts';
import { currentKey } from '../../state/permissions.ts';
import { go, goInstead, route } from '../../state/route.ts';
import { keepKey } from '../../state/shown-keys.ts';
import { hubId, tree, treeProblem } from '../../state/workspace.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { count, counted, exactMoment, moment } from '../../ui/format.ts';
import { Listed } from '../../ui/listed.tsx';
import { useLoad } from '../../ui/load.tsx';
import { Menu } from '../../ui/menu.tsx';
import { notify } from '../../ui/notice.tsx';
import { PageHead } from '../../ui/page.tsx';
import { ActionsHead, CardTable } from '../../ui/table.tsx';
import { KeyLimits } from './key-limits.tsx';
import { KeyUsage, readUsage } from './key-usage.tsx';
import { limitWords } from './key-words.ts';
import { keyNames, NewKey } from './new-key.tsx';

type PendingDialog = { action: 'usage' | 'change' | 'rotate' | 'replace' | 'revoke' | 'keep'; key: Key };

/** The newest first: it is the one that a person has just created. */
const readKeys = async (signal: AbortSignal) =>
  (await callList<ListedKey>('v1/keys', { signal })).toReversed();

export function KeysPage() {
  const loaded = useLoad(readKeys, []);
  const [asked, setAsked] = useState<PendingDialog>();
  const [, , , how, queryId] = route.value;
  const id = hubId.value ?? '';
  // The form begins with the name of the query.
  const hasTree = tree.value !== undefined || treeProblem.value !== undefined;
  const isReady = (loaded.value !== undefined || !loaded.loading) && hasTree;
  return (
    <div class="page">
      <PageHead title="Keys">
        <button type="button" class="primary" onClick={() => goInstead('hub', id, 'keys', 'new')}>
          New key
        </button>
      </PageHead>
      <p class="hint">
        Keys belong to the account. Give each program its own, with no more than it needs; a key for web pages
        is bound to its origins and queries.
      </p>
      <Listed of={loaded} what="keys" empty="There are no keys that this one may see.">
        {(keys) => <KeyTable keys={keys} onAsk={setAsked} />}
      </Listed>
      {how === 'new' && isReady && (
        <NewKey
          queryId={queryId}
          endsBy={loaded.value?.find(isOwn)?.expiresAt ?? undefined}
          onMade={loaded.refresh}
          onClose={() => goInstead('hub', id, 'keys')}
        />
      )}
      {asked?.action === 'usage' && <KeyUsage of={asked.key} onClose={() => setAsked(undefined)} />}
      {asked?.action === 'change' && (
        <ChangeKey of={asked.key} onClose={() => setAsked(undefined)} onDone={loaded.refresh} />
      )}
      {asked?.action === 'keep' && (
        <HandOver of={asked.key} onClose={() => setAsked(undefined)} onDone={loaded.refresh} />
      )}
      {asked?.action === 'revoke' && (
        <Revoke of={asked.key} onClose={() => setAsked(undefined)} onDone={loaded.refresh} />
      )}
      {(asked?.action === 'rotate' || asked?.action === 'replace') && (
        <Rotate
          of={asked.key}
          isLost={asked.action === 'replace'}
          onClose={() => setAsked(undefined)}
          onDone={loaded.refresh}
        />
      )}
    </div>
  );
}

const isOwn = (key: ListedKey) => key.keyId === currentKey.value?.keyId;

function KeyTable({ keys, onAsk }: { keys: readonly ListedKey[]; onAsk(asked: PendingDialog): void }) {
  return (
    <CardTable label="Keys" names={['Name', 'May', 'Within', 'Last used', 'Ends']} heads={<ActionsHead />}>
      {keys.map((key) =>
        isWhole(key) ? (
          <KeyRow key={key.keyId} of={key} onAsk={onAsk} />
        ) : (
          <tr key={key.keyId}>
            <td>
              <strong>{key.name}</strong>
            </td>
            <td colSpan={4} class="note">
              {key.state === 'active' ? '' : `This key is ${key.state}. `}It may do more than the key of this
              tab.
            </td>
            <td />
          </tr>
        ),
      )}
    </CardTable>
  );
}

/** Of a key of a person. */
const personNotes = {
  active: 'ends with its person',
  expired: 'ends with its person',
  paused: 'paused: its person is disabled, or has to sign in again',
  ended: 'ended with its person',
};

const isWhole = (key: ListedKey): key is Key => key.scopes !== undefined;

function KeyRow({ of: key, onAsk }: { of: Key; onAsk(asked: PendingDialog): void }) {
  return (
    <tr>
      <td>
        <strong>{key.name}</strong>
        <div class="note">
          …{key.lastCharacters}
          {isOwn(key) && ' · this tab'}
        </div>
        {key.madeBy && (
          <div class="note" title={key.madeBy.keyId}>
            {key.madeBy.keyId === key.personId ? 'created by' : 'created with'} “{key.madeBy.name}”
          </div>
        )}
        {key.personId !== undefined && <div class="note">{personNotes[key.state]}</div>}
      </td>
      <td data-name="May">
        {key.scopes.map((scope) => (
          <span key={scope} class="tag">
            {scope === '*' ? 'everything' : scope}
          </span>
        ))}
      </td>
      <td data-name="Within">
        {limitsOf(key)}
        {key.withheld?.map(({ scope, detail }) => (
          <div key={scope} class="note">
            Cannot {detail}.
          </div>
        ))}
      </td>
      <td data-name="Last used" class="when">
        {key.lastUsedAt === null ? (
          <>
            never
            <button
              type="button"
              class="quiet key-replace"
              title="If nobody has copied its secret, a new one replaces it"
              onClick={() => onAsk({ action: 'replace', key })}
            >
              Replace the secret …
            </button>
          </>
        ) : (
          moment(key.lastUsedAt)
        )}
      </td>
      <td data-name="Ends" class="when">
        {key.expiresAt === null ? 'never' : moment(key.expiresAt)}
      </td>
      <td class="right">
        <Menu
          label={`Actions for ${key.name}`}
          items={[
            { label: 'Usage', run: () => onAsk({ action: 'usage', key }) },
            { label: 'Audit', run: () => go('hub', hubId.value ?? '', 'audit', 'key', key.keyId) },
            { label: 'Change', run: () => onAsk({ action: 'change', key }) },
            ...(key.personId === undefined
              ? []
              : [{ label: 'Hand to the hub …', run: () => onAsk({ action: 'keep', key }) }]),
            { label: 'Rotate', run: () => onAsk({ action: 'rotate', key }) },
            { label: 'Revoke', danger: true, run: () => onAsk({ action: 'revoke', key }) },
          ]}
        />
      </td>
    </tr>
  );
}

function limitsOf(key: Key) {
  const words = limitWords(key, keyNames);
  if (words.length === 0) return <span class="note">no limits</span>;
  return words.map((word) => <div key={word}>{word}</div>);
}

interface OneKeyProps {
  of: Key;
  onClose(): void;
  onDone(): void;
}

/** What the key did today, because revoking it ends that. */
function UsedToday({ keyId }: { keyId: string }) {
  const { value } = useLoad((signal) => readUsage(keyId, signal), [keyId]);
  if (value === undefined) return null;
  const { days, to, truncated } = value;
  const today = days.find(({ day }) => day === to);
  const when = truncated ? 'In the last hours' : 'Today';
  if (today === undefined) return <p>{when} it has executed no query.</p>;
  const failed = today.failed === 0 ? '' : `, ${count(today.failed)} of them failed`;
  return (
    <p>
      <strong>
        {when} it has executed {counted(today.count, 'query', 'queries')}
      </strong>
      {failed}.
    </p>
  );
}

function Revoke({ of, onClose, onDone }: OneKeyProps) {
  const submit = async () => {
    await call(`v1/keys/${part(of.keyId)}`, { method: 'DELETE' });
    if (isOwn(of)) return signOut();
    notify(`Revoked “${of.name}”.`);
    onDone();
  };
  return (
    <FormDialog title={`Revoke “${of.name}”?`} action="Revoke key" danger onClose={onClose} onSubmit={submit}>
      <UsedToday keyId={of.keyId} />
      <p>
        The hub refuses the key within five seconds. This cannot be undone.
        {isOwn(of) && <strong> This tab uses the key, so you will be signed out.</strong>}
      </p>
    </FormDialog>
  );
}

function HandOver({ of, onClose, onDone }: OneKeyProps) {
  const submit = async () => {
    await call(`v1/keys/${part(of.keyId)}`, { method: 'PUT', body: { personId: null } });
    notify(`“${of.name}” belongs to the hub.`);
    onDone();
  };
  return (
    <FormDialog
      title={`Hand “${of.name}” to the hub?`}
      action="Hand it to the hub"
      onClose={onClose}
      onSubmit={submit}
    >
      <p>
        Now the key can do no more than its person, and ends with the person. Then it keeps its scopes and
        limits until {of.expiresAt === null ? '' : `${moment(of.expiresAt)}, or until `}somebody revokes it.
      </p>
    </FormDialog>
  );
}

interface RotateProps extends OneKeyProps {
  /** True for a key whose secret was lost. */
  isLost: boolean;
}

function Rotate({ of, isLost, onClose, onDone }: RotateProps) {
  const [minutes, setMinutes] = useState(isLost ? '0' : '60');
  const submit = async () => {
    const overlapSeconds = Math.round(Number(minutes) * 60);
    const made = await callJson<{ key: string; previousExpiresAt: string }>(
      `v1/keys/${part(of.keyId)}/rotate`,
      { body: { overlapSeconds } },
    );
    onDone();
    // The old key may have had an end of its own.
    const end =
      overlapSeconds === 0 ? 'which has ended' : `which ends on ${exactMoment(made.previousExpiresAt)}`;
    const note = `It has the same permissions as the old key, ${end}.`;
    keepKey({ name: of.name, secret: made.key, note }, { isOpen: true });
  };
  return (
    <FormDialog
      title={isLost ? `Replace the secret of “${of.name}”` : `Rotate “${of.name}”`}
      action="Create the new key"
      disabled={!/^\d+(\.\d+)?$/.test(minutes.trim())}
      onClose={onClose}
      onSubmit={submit}
    >
      <p>
        {isLost
          ? 'A new key with the same permissions replaces it. Nobody has used the old one yet.'
          : 'A new key replaces it. The old key stays valid for a while, so that programs can change over.'}
      </p>
      <Field label="Minutes until the old key expires" value={minutes} onInput={setMinutes} />
    </FormDialog>
  );
}

interface ChangeKeyProps {
  of: Key;
  onClose(): void;
  onDone(): void;
}

function ChangeKey({ of, onClose, onDone }: ChangeKeyProps) {
  const [form, setForm] = useState(() => formOf(of));
  const set = (change: Partial<KeyForm>) => setForm({ ...form, ...change });
  const body = changeOf(of, form, Date.now());
  const submit = async () => {
    await callJson(`v1/keys/${part(of.keyId)}`, { method: 'PUT', body });
    notify(`Changed “${form.name.trim()}”.`);
    onDone();
  };
  return (
    <FormDialog
      title={`Change “${of.name}”`}
      action="Save the key"
      disabled={form.name.trim() === '' || hasWrongNumber(form) || Object.keys(body).length === 0}
      wide
      onClose={onClose}
      onSubmit={submit}
    >
      <p>
        Programs with the key need no change: the new limits apply within five seconds. The scopes of a key
        cannot be changed.
      </p>
      <Field label="Name" value={form.name} onInput={(name) => set({ name })} required autofocus />
      <KeyLimits
        form={form}
        set={set}
        end={of.expiresAt === null ? 'no end, as now' : `ends ${moment(of.expiresAt)}, as now`}
      />
    </FormDialog>
  );
}
