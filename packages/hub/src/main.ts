/** `npm start`: the hub in one process, and, unless DATAHUB_DEMO=0, a demo hub with queries and a trained classifier. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runProcess } from '@datahub/service-kit/process/lifecycle';
import { openHub } from './compose.ts';
import { startDemo } from './demo-content.ts';

const say = (line: string) => process.stdout.write(`${line}\n`);

async function start() {
  const hub = await openHub(process.env);
  const { url } = hub;
  say(`The hub listens on ${url}`);
  if (hub.console) say(`Look around in a browser: ${url}/`);
  if (hub.madeKey !== undefined) {
    say(`Your API key, shown this once and kept in ${join(hub.dataDir, 'api-key')}:\n\n    ${hub.madeKey}\n`);
  }
  if (!hub.demo) return hub;
  const keyFile = join(hub.dataDir, 'api-key');
  const given = process.env.DATAHUB_API_KEY?.trim();
  const key = given || (await readFile(keyFile, 'utf8')).trim();
  // Terminals and logs are kept: only where the key lies is shown again.
  const shownKey = given ? '$DATAHUB_API_KEY' : `$(cat '${keyFile}')`;
  say('Starting the demo database …');
  const demo = await startDemo({ url, key, dataDir: hub.dataDir });
  say('Try it:\n');
  say(`    curl -s ${url}/v1/queries/execute -H "x-service-api-key: ${shownKey}" \\`);
  say(`      -H 'content-type: application/json' \\`);
  say(`      -d '{"queryId":"${demo.queryId}","context":{"region":"north"}}'\n`);
  say(
    `    curl -s ${url}/v1/classifiers/${demo.classifierId}/predict -H "x-service-api-key: ${shownKey}" \\`,
  );
  say(`      -H 'content-type: application/json' -d '{"context":"my parcel has not arrived"}'\n`);
  return {
    stopLog: hub.stopLog,
    close: async () => {
      await demo.close();
      await hub.close();
    },
  };
}

await runProcess({ start });
