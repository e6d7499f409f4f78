/** Creates a key that may run this query and nothing else. */

import { useState } from 'preact/hooks';
import { callJson, callList } from '../../../api/client.ts';
import type { ListedKey } from '../../../api/types.ts';
import { createKeyBodies, emptyKey } from '../../../state/key-form.ts';
import { currentKey, may } from '../../../state/permissions.ts';
import { linkTo } from '../../../state/route.ts';
import { keepKey } from '../../../state/shown-keys.ts';
import { hubId } from '../../../state/workspace.ts';
import { Chips } from '../../../ui/chips.tsx';
import { FormDialog } from '../../../ui/dialog.tsx';
import { moment } from '../../../ui/format.ts';

export interface MadeKey {
  secret: string;
  origins: string[];
  endsAt: string | undefined;
}

interface MakeKeyProps {
  query: { queryId: string; label: string; writes: boolean };
  /** True for a key of web pages, which needs their origins. */
  isForPages: boolean;
  onMade(key: MadeKey): void;
  onClose(): void;
}

export function MakeKey({ query, isForPages, onMade, onClose }: MakeKeyProps) {
  const { queryId, label, writes } = query;
  const [origins, setOrigins] = useState<string[]>([]);
  const [bodyOf] = useState(createKeyBodies);
  const form = {
    ...emptyKey(''),
    name: `${isForPages ? 'Browser' : 'Program'}: ${label}`.slice(0, 100),
    scopes: [writes ? 'queries:execute:write' : 'queries:execute'],
    queryIds: [queryId],
    origins: isForPages ? origins : [],
  };
  const create = async () => {
    // A key that expires creates keys that expire no later.
    const keys = await callList<ListedKey>('v1/keys');
    const endsBy = keys.find(({ keyId }) => keyId === currentKey.value?.keyId)?.expiresAt ?? undefined;
    const made = await callJson<{ key: string; expiresAt?: string | null }>('v1/keys', {
      body: bodyOf(form, endsBy),
    });
    const note = `It may run “${label}” and nothing else.`;
    keepKey({ name: form.name, secret: made.key, note }, { isOpen: false });
    onMade({ secret: made.key, origins: form.origins, endsAt: made.expiresAt ?? undefined });
  };
  return (
    <FormDialog
      title={isForPages ? 'New browser key' : 'New key'}
      action="Create key"
      disabled={isForPages && origins.length === 0}
      onClose={onClose}
      onSubmit={create}
    >
      <p>
        It may run “{label}” and nothing else: 60 requests a minute, 1,000 rows each, for 90 days at most.
      </p>
      {isForPages && (
        <Chips
          label="Origins"
          hint="Only pages of these origins may use it, so it may be public."
          values={origins}
          placeholder="https://shop.example"
          onChange={setOrigins}
        />
      )}
      <p class="hint">
        To pin variables or change the limits,{' '}
        <a href={linkTo('hub', hubId.value ?? '', 'keys', 'new', queryId)} onClick={onClose}>
          write the whole form
        </a>
        .
      </p>
    </FormDialog>
  );
}

interface KeyLineProps {
  made: MadeKey | undefined;
  isForPages: boolean;
  onMake(): void;
}

/** Says which key the calls carry. */
export function KeyLine({ made, isForPages, onMake }: KeyLineProps) {
  const make = may('keys:admin') && (
    <button type="button" onClick={onMake}>
      {isForPages ? 'Make a browser key …' : 'Make a key …'}
    </button>
  );
  return (
    <div class="use-key">
      <span>
        {made === undefined ? (
          isForPages ? (
            'The page needs a key that is bound to its origin.'
          ) : (
            <>
              Key: <code>DATAHUB_KEY</code> of the environment.
            </>
          )
        ) : (
          <>
            Key: <b>…{made.secret.slice(-4)}</b>, created just now
            {made.endsAt !== undefined && `, ends ${moment(made.endsAt)}`}. The calls contain it, and the hub
            does not show it again.
          </>
        )}
      </span>
      {make}
    </div>
  );
}
