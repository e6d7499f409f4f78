/** Signs in with a browser on this computer, which brings the answer to a port of the loopback address (RFC 8252). */

import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { finished } from 'node:stream/promises';
import { cliClient } from '@datahub/contract/people/oauth';
import type { Environment } from '../access.ts';
import { CommandError } from '../failure.ts';
import { askForTokens, type Server, type SignIn } from './server.ts';

const waitMs = 300_000;

interface BrowserOptions {
  env: Environment;
  /** Shows the address, for a computer that opens no browser. */
  show(address: string): void;
}

export async function signInWithBrowser(server: Server, { env, show }: BrowserOptions): Promise<SignIn> {
  const [state, verifier] = [createSecret(), createSecret()];
  const outcome = Promise.withResolvers<SignIn>();
  let redirectUri = '';
  let signedIn: Promise<SignIn> | undefined;
  const listener = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    const isAnswer = url.pathname === '/callback' && url.searchParams.get('state') === state;
    if (!isAnswer) return void answerBrowser(response, 404, 'This is no answer to a sign-in.');
    signedIn ??= redeem(server, url.searchParams, { redirectUri, verifier });
    void showOutcome(response, signedIn).finally(() => outcome.resolve(signedIn as Promise<SignIn>));
  });
  const timer = setTimeout(
    () => outcome.reject(new CommandError('Nobody signed in within five minutes.')),
    waitMs,
  );
  try {
    await new Promise<void>((resolve, reject) => {
      listener.once('error', reject).listen(0, '127.0.0.1', resolve);
    });
    redirectUri = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/callback`;
    const address = new URL(server.authorization_endpoint);
    address.search = String(
      new URLSearchParams({
        ...{ response_type: 'code', client_id: cliClient.clientId, redirect_uri: redirectUri, state },
        code_challenge: createHash('sha256').update(verifier).digest('base64url'),
        code_challenge_method: 'S256',
        resource: `${server.issuer}/v1`,
      }),
    );
    show(address.href);
    openBrowser(address.href, env);
    return await outcome.promise;
  } finally {
    clearTimeout(timer);
    listener.close();
    listener.closeAllConnections();
  }
}

/** Throws a CommandError if the answer brings no tokens. */
async function redeem(
  { issuer }: Server,
  answer: URLSearchParams,
  { redirectUri, verifier }: { redirectUri: string; verifier: string },
): Promise<SignIn> {
  // Another server can have led the browser here (RFC 9207).
  if (answer.get('iss') !== issuer)
    throw new CommandError(`The browser brought an answer that is not from ${issuer}.`);
  const code = answer.get('code');
  if (code === null) throw new CommandError('The sign-in was refused in the browser.');
  return askForTokens(issuer, {
    ...{ grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier },
  });
}

const createSecret = (): string => randomBytes(32).toString('base64url');

/** Resolves when the browser has the page. */
async function showOutcome(response: ServerResponse, signedIn: Promise<SignIn>): Promise<void> {
  const [status, text] = await signedIn.then(
    () => [200, 'You are signed in. You can close this page and go on in the terminal.'] as const,
    (err) => [400, `The sign-in failed. ${err.message}`] as const,
  );
  await answerBrowser(response, status, text);
}

function answerBrowser(response: ServerResponse, status: number, text: string): Promise<void> {
  const headers = { 'content-type': 'text/plain; charset=utf-8', connection: 'close' };
  response.writeHead(status, headers).end(text);
  // A browser that is gone is no failure of the sign-in.
  return finished(response).catch(() => {});
}

/** If this fails, the person opens the address that is shown. */
function openBrowser(address: string, { BROWSER }: Environment): void {
  const byPlatform: Partial<Record<NodeJS.Platform, [string, ...string[]]>> = {
    darwin: ['open'],
    win32: ['rundll32', 'url.dll,FileProtocolHandler'],
  };
  const [program, ...args] = BROWSER ? [BROWSER] : (byPlatform[process.platform] ?? ['xdg-open']);
  const child = spawn(program, [...args, address], { stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
}
