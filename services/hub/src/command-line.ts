/**
 * The commands of `@datahub/cli`, with those for operators, who reach the store of a hub. Only an operator can create
 * accounts: through the socket in the data directory of a hub over SQLite, or in the store itself.
 */

import type { Run } from '@datahub/cli/command';
import { note, print, printJson } from '@datahub/cli/output';
import { runCommandLine } from '@datahub/cli/run-command';
import { openStandardOutput } from '@datahub/cli/standard-output';
import { keyRuns } from './commands/keys.ts';
import { findLocalHub } from './commands/locate-hub.ts';
import { runWhoami } from './commands/whoami.ts';

/** A cancelled backup leaves no partial files. */
const runBackup: Run = async ({ positionals: [directory = ''], values }, context) => {
  // This is loaded only here, because it imports the ml service, which the catalog's image does not contain.
  const { takeBackup } = await import('./commands/backup.ts');
  const cancelling = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => cancelling.abort());
  const options = {
    directory,
    overwrite: values.overwrite === true,
    print: (line: string) => note(context, line),
    signal: cancelling.signal,
  };
  printJson(context, await takeBackup(context.env, options));
};

const runSealingKeys: Run = async (_input, context) => {
  const { generateKeyPair } = await import('@datahub/sealing/key-pair');
  const { publicKey, privateKey } = await generateKeyPair();
  if (context.json) return printJson(context, { publicKey, privateKey });
  print(context, `DATAHUB_SEALING_PUBLIC_KEYS=${publicKey}\nDATAHUB_SEALING_PRIVATE_KEYS=${privateKey}\n`);
};

const runForgetCredentials: Run = async (input, context) => {
  const { runForgetCredentials: run } = await import('./commands/forget-credentials.ts');
  return run(input, context);
};

const runCompact: Run = async (input, context) => {
  const { runCompact: run } = await import('./commands/compact.ts');
  return run(input, context);
};

const { stdin, stderr, env } = process;
const stdout = openStandardOutput(process);
process.exitCode = await runCommandLine(process.argv.slice(2), {
  ...{ stdin, stdout, stderr, env },
  findHub: findLocalHub,
  runs: {
    ...keyRuns,
    whoami: runWhoami,
    backup: runBackup,
    'sealing-keys': runSealingKeys,
    'store compact': runCompact,
    'store forget-credentials': runForgetCredentials,
  },
});
