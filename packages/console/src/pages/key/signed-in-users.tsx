/** The part of the form of a key that is for pages with signed-in users. */

import { useState } from 'preact/hooks';
import { emptyUser, type UserForm } from '../../state/key-form.ts';
import { Field, Tick } from '../../ui/field.tsx';
import { decodeToken } from './example-token.ts';
import { Pairs } from './pairs.tsx';

interface SignedInUsersProps {
  user: UserForm | undefined;
  onChange(user: UserForm | undefined): void;
}

export function SignedInUsers({ user, onChange }: SignedInUsersProps) {
  return (
    <fieldset class="pinned">
      <legend>Signed-in users</legend>
      <Tick
        label="Calls also need the token of a signed-in user, whose claims pin variables"
        checked={user !== undefined}
        onChange={(on) => onChange(on ? emptyUser : undefined)}
      />
      {user !== undefined && <Provider user={user} set={(change) => onChange({ ...user, ...change })} />}
    </fieldset>
  );
}

function Provider({ user, set }: { user: UserForm; set(change: Partial<UserForm>): void }) {
  return (
    <>
      <div class="columns-2">
        <Field
          label="Issuer"
          value={user.issuer}
          onInput={(issuer) => set({ issuer })}
          placeholder="https://shop.example/id"
          hint="The claim iss, to the character."
        />
        <Field
          label="Audience"
          value={user.audience}
          onInput={(audience) => set({ audience })}
          placeholder="https://shop.example/api"
          hint="The claim aud."
        />
      </div>
      <div class="columns-2">
        <Field
          label="Address of the issuer’s keys"
          value={user.jwks}
          onInput={(jwks) => set({ jwks })}
          placeholder="from its OpenID configuration"
        />
        <Field
          label="Requests per minute and user"
          value={user.ratePerMinute}
          onInput={(ratePerMinute) => set({ ratePerMinute })}
          placeholder="no limit"
        />
      </div>
      <p class="hint">
        The claim that each variable is pinned to. The query must use each of these variables.
      </p>
      <Pairs
        pairs={user.claims}
        labels={['Variable of the claim', 'Claim']}
        placeholders={['customer', 'sub']}
        add="Pin a claim"
        onChange={(claims) => set({ claims })}
      />
      <ExampleToken user={user} />
    </>
  );
}

/** The token is not stored, and not sent to the hub. */
function ExampleToken({ user }: { user: UserForm }) {
  const [text, setText] = useState('');
  const decoded = text.trim() === '' ? undefined : decodeToken(text, user, Date.now());
  return (
    <>
      <Field
        label="An example of a token"
        value={text}
        onInput={setText}
        rows={3}
        mono
        hint="Shows what it would pin. It stays in this page."
      />
      {text.trim() !== '' && decoded === undefined && <p class="banner">This is no JSON Web Token.</p>}
      {decoded !== undefined && (
        <div role="status" aria-label="The example">
          {decoded.pinned.length > 0 && (
            <p>
              It would pin{' '}
              {decoded.pinned.map(([variable, json], i) => (
                <span key={variable}>
                  {i > 0 && ', '}
                  <code>
                    {variable} = {json}
                  </code>
                </span>
              ))}
              .
            </p>
          )}
          {decoded.faults.map((fault) => (
            <p class="banner" key={fault}>
              {fault}
            </p>
          ))}
          <pre class="mono">{decoded.claims}</pre>
        </div>
      )}
    </>
  );
}
