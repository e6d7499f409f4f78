/** `npm start`: the hub in one process and, unless DATAHUB_DEMO=0, a demo with queries and a trained classifier. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runProcess } from '@datahub/service-kit/process/lifecycle';
import { describeStartFailure } from '@datahub/service-kit/process/start-failure';
import { type Hub, openHub } from './compose.ts';
import { type Demo, startDemo } from './demo-content.ts';

const say = (line: string) => process.stdout.write(`${line}\n`);

async function start() {
  const hub = await openHub(process.env);
  const { url } = hub;
  say(`The hub listens on ${url}`);
  if (hub.console) say(`Open the console in a browser: ${url}/`);
  if (hub.madeKey !== undefined) {
    say(
      `Your API key, shown only once and stored in ${join(hub.dataDir, 'api-key')}:\n\n    ${hub.madeKey}\n`,
    );
  }
  const demo = hub.demo ? await addDemo(hub) : undefined;
  return {
    stopLog: hub.stopLog,
    close: async () => {
      await demo?.close();
      await hub.close();
    },
  };
}

/** The demo's database takes seconds to start. The hub serves in the meantime, and a signal stops both. */
async function addDemo({ url, dataDir }: Hub): Promise<Demo> {
  const keyFile = join(dataDir, 'api-key');
  const given = process.env.DATAHUB_API_KEY?.trim();
  const key = given || (await readFile(keyFile, 'utf8')).trim();
  say('Starting the demo database …');
  const demo = await startDemo({ url, key, dataDir });
  let closing = false;
  demo.ready.then(
    // Terminals and logs are stored, so this prints where the key is, and not the key.
    (made) => showDemo(made, url, given ? '$DATAHUB_API_KEY' : `$(cat '${keyFile}')`),
    (err) => {
      if (closing) return;
      const reason = describeStartFailure(err);
      process.stderr.write(
        `The demo did not start. The hub runs without it; DATAHUB_DEMO=0 leaves it out.\n${reason}\n`,
      );
    },
  );
  const close = () => {
    closing = true;
    return demo.close();
  };
  return { ...demo, close };
}

function showDemo(demo: Awaited<Demo['ready']>, url: string, shownKey: string): void {
  say('Try it:\n');
  say(`    curl -s ${url}/v1/queries/execute -H "x-service-api-key: ${shownKey}" \\`);
  say(`      -H 'content-type: application/json' \\`);
  say(`      -d '{"queryId":"${demo.queryId}","context":{"region":"north"}}'\n`);
  say(
    `    curl -s ${url}/v1/classifiers/${demo.classifierId}/predict -H "x-service-api-key: ${shownKey}" \\`,
  );
  say(`      -H 'content-type: application/json' -d '{"context":"my parcel has not arrived"}'\n`);
}

await runProcess({ start });
