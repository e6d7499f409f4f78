/**
 * The commands for keys, for operators. They use the API if a hub runs and there is a key; otherwise, and for new
 * accounts, which no key may create, they use the running hub's socket or open the store.
 */

import type { OperatorRequest } from '@datahub/catalog/rpc/operator';
import { type Input, isSet, type Run, textOf } from '@datahub/cli/command';
import { createKey, listKeys, readNewKey, revokeKey, rotateKey } from '@datahub/cli/commands/keys';
import { CommandError } from '@datahub/cli/failure';
import { printJson } from '@datahub/cli/output';
import { locateHub, runLocally } from './locate-hub.ts';

const nothing = { keyId: '', name: '', scopes: [], newAccount: false };

const operate =
  (overApi: Run | undefined, toRequest: (input: Input) => OperatorRequest): Run =>
  async (input, context) => {
    const request = toRequest(input);
    const located = await locateHub(context.env);
    const { runs, key } = located.access;
    if (runs && key !== undefined && !request.newAccount) return overApi?.(input, context);
    if (textOf(input, 'limits') !== undefined)
      throw new CommandError('--limits needs a running hub and its key. Start the hub, then create the key.');
    printJson(context, await runLocally(request, located));
  };

const keyIdOf = ({ positionals: [keyId = ''] }: Input) => keyId;

export const keyRuns: Readonly<Record<string, Run>> = {
  [createKey.name]: operate(createKey.run, (input) => ({
    ...nothing,
    ...readNewKey(input),
    action: 'create',
    newAccount: isSet(input, 'new-account'),
  })),
  [listKeys.name]: operate(listKeys.run, () => ({ ...nothing, action: 'list' })),
  [rotateKey.name]: operate(rotateKey.run, (input) => ({
    ...nothing,
    action: 'rotate',
    keyId: keyIdOf(input),
  })),
  [revokeKey.name]: operate(revokeKey.run, (input) => ({
    ...nothing,
    action: 'revoke',
    keyId: keyIdOf(input),
  })),
};
