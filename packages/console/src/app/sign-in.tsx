/** The form for a key, and whether the hub is ready for it. */

import { useEffect, useState } from 'preact/hooks';
import { addressOf, call, problemOf } from '../api/client.ts';
import { refusal, signIn } from '../api/session.ts';
import { ofTab } from '../api/storage.ts';
import type { Problem } from '../api/types.ts';
import { Field, Tick } from '../ui/field.tsx';
import { ProblemBox } from '../ui/problem.tsx';

export const keepsNothing =
  'This browser keeps nothing for the console, so a key and settings last until this tab is closed or loaded again.';

export function SignIn() {
  const [text, setText] = useState('');
  const [keep, setKeep] = useState(true);
  const [isKept] = useState(() => ofTab.keeps());
  const [busy, setBusy] = useState(false);
  const [provider, setProvider] = useState<string>();
  const [problem, setProblem] = useState<Problem | undefined>(refusal.value);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setProblem(undefined);
    const failed = await check(text.trim());
    setBusy(false);
    if (failed === undefined) signIn(text.trim(), { keep: keep && isKept });
    else setProblem(failed);
  };
  return (
    <main class="sign-in">
      <form class="card form" onSubmit={submit}>
        <div class="logo big">
          <i aria-hidden="true" />
          <h1>Data Hub</h1>
        </div>
        <Readiness onProvider={setProvider} />
        {provider !== undefined && (
          <>
            <a class="button primary" href={addressOf(`auth/login?to=${encodeURIComponent(location.hash)}`)}>
              Sign in with {provider}
            </a>
            <p class="hint">or with a key of the hub:</p>
          </>
        )}
        <Field
          label="API key"
          type="password"
          value={text}
          onInput={setText}
          required
          autofocus={provider === undefined}
          hint="npm start prints the first key; “npm run datahub -- keys create” makes another."
        />
        {isKept ? (
          <Tick
            label="Stay signed in, in all tabs of this browser, until the last one is closed"
            checked={keep}
            onChange={setKeep}
          />
        ) : (
          <p class="hint">{keepsNothing}</p>
        )}
        {problem && <ProblemBox problem={problem} />}
        <button type="submit" class="primary" disabled={busy || text.trim() === ''}>
          Sign in
        </button>
        <p class="hint">
          The console is a client of the public API and may do what the key may do.{' '}
          <a href={addressOf('openapi.json')}>openapi.json</a> describes every route.
        </p>
      </form>
    </main>
  );
}

/** A key that lacks a scope is a key all the same; what counts is that the hub knows it. */
async function check(key: string): Promise<Problem | undefined> {
  try {
    await call('v1/hubs?limit=1', { withKey: key });
    return undefined;
  } catch (err) {
    const problem = problemOf(err);
    return problem.status === 403 ? undefined : problem;
  }
}

function Readiness({ onProvider }: { onProvider(name: string): void }) {
  const [words, setWords] = useState('Asking whether the hub is ready …');
  useEffect(() => {
    let current = true;
    void readiness().then(({ words, provider }) => {
      if (!current) return;
      setWords(words);
      if (provider !== undefined) onProvider(provider);
    });
    return () => {
      current = false;
    };
  }, []);
  return (
    <p class="hint" role="status">
      {words}
    </p>
  );
}

async function readiness(): Promise<{ words: string; provider?: string | undefined }> {
  try {
    const answer = await (await fetch(addressOf('readyz'), { cache: 'no-store' })).json();
    const { status, missing = [], signIn } = answer;
    const provider: string | undefined = signIn?.provider;
    if (status !== 'ready') return { words: `The hub is not ready: it waits for ${missing.join(', ')}.` };
    if (missing.length === 0) return { words: 'The hub is ready.', provider };
    return { words: `The hub is ready, without ${missing.join(', ')}.`, provider };
  } catch {
    return { words: 'The hub does not answer. Is it running?' };
  }
}
