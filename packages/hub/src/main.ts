/** `npm start`: the hub in one process and, unless DATAHUB_DEMO=0, a demo with queries and a trained classifier. */

import { createClosers, runProcess } from '@datahub/service-kit/process/lifecycle';
import { describeStartFailure } from '@datahub/service-kit/process/start-failure';
import { exampleCurl, findKey, type KeyAccess, storeUrl } from './access.ts';
import { type Hub, openHub } from './compose.ts';
import { type Demo, type DemoContent, startDemo } from './demo-content.ts';

/** Standard output carries the log, in JSON if it is not a terminal, so text for a person goes elsewhere then. */
const out = process.stdout.isTTY ? process.stdout : process.stderr;
const say = (line: string) => out.write(`${line}\n`);

async function start() {
  const hub = await openHub(process.env);
  const closers = createClosers();
  closers.add(hub);
  closers.add(await storeUrl(hub.dataDir, hub.url));
  const access = await findKey(process.env, hub.dataDir);
  say(`The hub listens on ${hub.url}`);
  if (hub.demo && access.key !== undefined) closers.add(await addDemo(hub, { ...access, key: access.key }));
  else welcome(hub, access);
  return { stopLog: hub.stopLog, close: async () => closers.close() };
}

/** The demo's database takes seconds to start. The hub serves in the meantime, and a signal stops both. */
async function addDemo(hub: Hub, access: KeyAccess & { key: string }): Promise<Pick<Demo, 'close'>> {
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
function welcome(hub: Hub, { key, keyPlace, keyInShell }: KeyAccess, demo?: DemoContent): void {
  if (hub.console) say(`Console:  ${hub.url}/`);
  if (key !== undefined && hub.createSignInCode !== undefined) {
    say(`Sign in:  ${hub.url}/#sign-in=${hub.createSignInCode(key)} (works once, within five minutes)`);
  }
  say(`API key:  in ${keyPlace}; "npm run datahub -- whoami" says what it may do`);
  if (hub.createdKey !== undefined) say(`          ${hub.createdKey} (shown only at this start)`);
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

await runProcess({ start });
