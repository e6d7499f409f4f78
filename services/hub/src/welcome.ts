/** What a start prints for people, and the demo that it adds. */

import { describeStartFailure } from '@datahub/service-kit/settings/start-failure';
import { exampleCurl, type KeyAccess } from './access.ts';
import { type Demo, type DemoContent, startDemo } from './demo-content.ts';

export interface GreetingHub {
  /** The URL on this machine. */
  url: string;
  dataDir: string;
  /** The key that the first start created, to be shown once. */
  createdKey: string | undefined;
  /** Whether the URL serves the console. */
  console: boolean;
  /** For a link that signs in with a new key that may do what the given one may; undefined if others may reach the hub. */
  createSignInCode: ((apiKey: string) => string) | undefined;
  /** Whether to start the demo. */
  demo: boolean;
}

/** Standard output carries the log, in JSON if it is not a terminal, so text for a person goes elsewhere then. */
const out = process.stdout.isTTY ? process.stdout : process.stderr;
const say = (line: string) => out.write(`${line}\n`);

/** Prints how to reach the hub. Starts the demo if it is on. */
export async function greet(hub: GreetingHub, access: KeyAccess): Promise<{ close(): void | Promise<void> }> {
  say(`The hub listens on ${hub.url}`);
  if (hub.demo && access.key !== undefined) return addDemo(hub, { ...access, key: access.key });
  welcome(hub, access);
  return { close: () => {} };
}

/** The demo's database takes seconds to start. The hub serves in the meantime, and a signal stops both. */
async function addDemo(hub: GreetingHub, access: KeyAccess & { key: string }): Promise<Pick<Demo, 'close'>> {
  say('Starting the demo database …');
  const demo = await startDemo({ url: hub.url, key: access.key, dataDir: hub.dataDir });
  let closing = false;
  demo.ready.then(
    (content) => welcome(hub, access, content),
    (err) => {
      if (closing) return;
      const reason = describeStartFailure(err);
      say(`The demo did not start. The hub runs without it; DATAHUB_DEMO=0 leaves it out.\n${reason}`);
      welcome(hub, access);
    },
  );
  return {
    close: () => {
      closing = true;
      return demo.close();
    },
  };
}

/** Printed last, below what the start logs, so that it is still on the screen. */
function welcome(hub: GreetingHub, { key, keyPlace, keyInShell }: KeyAccess, demo?: DemoContent): void {
  if (hub.console) say(`Console:  ${hub.url}/`);
  if (key !== undefined && hub.createSignInCode !== undefined) {
    say(`Sign in:  ${hub.url}/#sign-in=${hub.createSignInCode(key)} (works once, within five minutes)`);
  }
  say(
    key === undefined
      ? `API key:  the keys of this data still work; "npm run datahub -- keys create" makes another one`
      : `API key:  in ${keyPlace}; "npm run datahub -- whoami" says what it may do`,
  );
  if (hub.createdKey !== undefined) say(`          ${hub.createdKey} (shown only at this start)`);
  // Without a key there is none in the file that the command reads.
  if (key === undefined) return;
  say('Try it:\n');
  if (demo === undefined) {
    say(`    ${exampleCurl(hub.url, keyInShell)}\n`);
    return;
  }
  // This contains the place of the key and not the key, because people copy it.
  const post = (path: string, body: object) => {
    say(`    curl -s ${hub.url}${path} -H "x-service-api-key: ${keyInShell}" \\`);
    say(`      -H 'content-type: application/json' -d '${JSON.stringify(body)}'\n`);
  };
  post('/v1/queries/execute', { queryId: demo.queryId, context: { region: 'north' } });
  post(`/v1/classifiers/${demo.classifierId}/predict`, { context: 'my parcel has not arrived' });
}
