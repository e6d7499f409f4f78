/**
 * The commands for keys, for operators. They use the API if a hub runs and there is a key; otherwise, and for new
 * accounts, which no key may create, they use the running hub's socket or open the store.
 */

import type { OperatorRequest } from '@datahub/catalog/rpc/operator';
import { type Input, isSet, type Run, textOf } from '@datahub/cli/command';
import { createKey, listKeys, readNewKey, revokeKey, rotateKey } from '@datahub/cli/commands/keys';
import { parseExact } from '@datahub/cli/exact-numbers';
import { CommandError } from '@datahub/cli/failure';
import { printJson, printRows } from '@datahub/cli/output';
import type { writeKeys } from '@datahub/gateway/resources/keys';
import { locateHub, runLocally } from './locate-hub.ts';

const nothing = { keyId: '', name: '', scopes: [], newAccount: false };

const operate =
  (overApi: Run | undefined, toRequest: (input: Input) => OperatorRequest): Run =>
  async (input, context) => {
    const request = toRequest(input);
    const located = await locateHub(context.env);
    const { runs, isElsewhere, key } = located.access;
    if ((runs || isElsewhere) && key !== undefined && !request.newAccount) return overApi?.(input, context);
    if (textOf(input, 'limits') !== undefined)
      throw new CommandError('--limits needs a running hub and its key. Start the hub, then create the key.');
    const answer = await runLocally(request, located);
    if (request.action === 'list') printRows(context, await toListed(answer as Keys));
    else printJson(context, answer);
  };

type Keys = Parameters<typeof writeKeys>[0];

/** Keys as the API lists them. Those that came over the socket have texts in place of times. */
async function toListed(keys: Keys): Promise<Record<string, unknown>[]> {
  const { writeKeys } = await import('@datahub/gateway/resources/keys');
  const time = (value: Date | undefined) => value && new Date(value);
  const revived = keys.map(({ createdAt, expiresAt, lastUsedAt, ...key }) => ({
    ...key,
    createdAt: time(createdAt),
    expiresAt: time(expiresAt),
    lastUsedAt: time(lastUsedAt),
  }));
  return parseExact(writeKeys(revived)) as Record<string, unknown>[];
}

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
