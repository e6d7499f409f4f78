/** Keys of the account, over the API. */

import { type Command, isSet, textOf } from '../command.ts';
import { CommandError } from '../failure.ts';
import { listAll } from '../hub.ts';
import { printJson, printRows } from '../output.ts';
import { parseObject } from '../read-input.ts';
import { ciScopes } from './init.ts';

export const createKey: Command = {
  name: 'keys create',
  summary: 'Creates a key, and prints it once.',
  options: {
    name: { type: 'string', value: 'NAME', help: 'What the key is for.', isRequired: true },
    scopes: {
      type: 'string',
      value: 'SCOPES',
      help: `Scopes with commas between them; by default all. For CI: ${ciScopes}`,
    },
    limits: {
      type: 'string',
      value: 'JSON',
      help: 'Limits as a JSON object, such as {"queries": ["shop/orders/by-region"], "user": {…}} for pages with signed-in users.',
    },
    'new-account': { type: 'boolean', help: 'Create an account with this key. Only operators can.' },
  },
  run: async (input, context) => {
    if (isSet(input, 'new-account'))
      throw new CommandError(
        '--new-account is for operators: it needs the store of the hub. Run it in the repository of the hub (npm run datahub) or in its image.',
      );
    const hub = await context.hub();
    const limits = textOf(input, 'limits');
    const body = {
      ...readNewKey(input),
      ...(limits === undefined ? {} : { limits: parseObject('--limits', limits) }),
    };
    printJson(context, await hub.call('POST /v1/keys', { body }));
  },
};

export function readNewKey(input: Parameters<typeof textOf>[0]): { name: string; scopes: string[] } {
  const name = textOf(input, 'name');
  if (name === undefined) throw new CommandError('--name is missing.');
  const scopes = textOf(input, 'scopes') ?? '*';
  return { name, scopes: scopes.split(',').map((scope) => scope.trim()) };
}

export const listKeys: Command = {
  name: 'keys list',
  summary: 'Lists the keys of the account.',
  run: async (_input, context) => {
    const keys = await listAll(await context.hub(), 'GET /v1/keys');
    printRows(context, keys);
  },
};

export const usageOfKey: Command = {
  name: 'keys usage',
  arguments: 'KEY_ID',
  summary: 'Counts the executions with a key, and its signed-in users, by day.',
  run: async ({ positionals: [keyId = ''] }, context) => {
    const hub = await context.hub();
    printJson(context, await hub.call('GET /v1/keys/{keyId}/usage', { path: { keyId } }));
  },
};

export const rotateKey: Command = {
  name: 'keys rotate',
  arguments: 'KEY_ID',
  summary: 'Replaces a key, prints the new one once, and keeps the old one valid for a while.',
  run: async ({ positionals: [keyId = ''] }, context) => {
    const hub = await context.hub();
    printJson(context, await hub.call('POST /v1/keys/{keyId}/rotate', { path: { keyId }, body: {} }));
  },
};

export const revokeKey: Command = {
  name: 'keys revoke',
  arguments: 'KEY_ID',
  summary: 'Makes a key invalid at once.',
  run: async ({ positionals: [keyId = ''] }, context) => {
    const hub = await context.hub();
    printJson(context, await hub.call('DELETE /v1/keys/{keyId}', { path: { keyId } }));
  },
};
