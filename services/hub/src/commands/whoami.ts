/** `whoami` for operators: it also knows the account, and works while the hub does not run. */

import { join } from 'node:path';
import type { KeyDescription, OperatorRequest } from '@datahub/catalog/rpc/operator';
import { isSet, type Run } from '@datahub/cli/command';
import { whoami } from '@datahub/cli/commands/whoami';
import { CommandError } from '@datahub/cli/failure';
import { print, printJson } from '@datahub/cli/output';
import { hashApiKey } from '@datahub/service-kit/api-key';
import { describeAccess } from '../access.ts';
import { locateHub, runLocally } from './locate-hub.ts';

export const runWhoami: Run = async (input, context) => {
  const { env } = context;
  const located = await locateHub(env);
  const { access } = located;
  const { key, url, keyPlace, runs, isElsewhere, dataDir } = access;
  // The store here knows nothing of the keys of a hub elsewhere.
  const isOwn =
    keyPlace === join(dataDir, 'api-key') ||
    (keyPlace === 'DATAHUB_API_KEY' && !isElsewhere && !(env.DATAHUB_URL && runs));
  if (!isOwn) return whoami.run?.(input, context);
  if (key === undefined)
    throw new CommandError(
      `There is no key in ${keyPlace}. If this is the hub's data directory, create a key: npm run datahub -- keys create --name NAME`,
    );
  const request: OperatorRequest = {
    action: 'describe',
    keyId: '',
    name: '',
    scopes: [],
    newAccount: false,
    keySha256: hashApiKey(key),
  };
  const described = (await runLocally(request, located)) as KeyDescription;
  const showKey = isSet(input, 'show-key');
  if (context.json) printJson(context, { url, keyPlace, ...described, key: showKey ? key : undefined });
  else print(context, describeAccess(access, { described, showKey }));
};
