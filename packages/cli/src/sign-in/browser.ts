/** Signs in with a browser on this computer, which brings the answer to a port of the loopback address (RFC 8252). */

import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
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
  const answer = Promise.withResolvers<URLSearchParams>();
  const listener = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    const isAnswer = url.pathname === '/callback' && url.searchParams.get('state') === state;
    answerBrowser(response, isAnswer);
    if (isAnswer) answer.resolve(url.searchParams);
  });
  const timer = setTimeout(
    () => answer.reject(new CommandError('Nobody signed in within five minutes.')),
    waitMs,
  );
  try {
    await new Promise<void>((resolve, reject) => {
      listener.once('error', reject).listen(0, '127.0.0.1', resolve);
    });
    const redirectUri = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/callback`;
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
    const found = await answer.promise;
    const code = found.get('code');
    if (found.get('iss') !== server.issuer || code === null)
      throw new CommandError('The sign-in was refused in the browser.');
    return await askForTokens(server.issuer, {
      ...{ grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier },
    });
  } finally {
    clearTimeout(timer);
    listener.close();
    listener.closeAllConnections();
  }
}

const createSecret = (): string => randomBytes(32).toString('base64url');

function answerBrowser(response: ServerResponse, isAnswer: boolean): void {
  const text = isAnswer
    ? 'You can close this page and go on in the terminal.'
    : 'This is no answer to a sign-in.';
  response.writeHead(isAnswer ? 200 : 404, { 'content-type': 'text/plain', connection: 'close' }).end(text);
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
