import { keyOf } from '../access.ts';
import type { Command } from '../command.ts';
import { print, printJson } from '../output.ts';

export const whoami: Command = {
  name: 'whoami',
  summary: 'Shows the hub, the place of the key, and what the key may do.',
  options: {
    'show-key': { type: 'boolean', help: 'Print the key, too.' },
  },
  run: async (input, context) => {
    const hub = await context.hub();
    const { url, keyPlace } = hub.access;
    const { keyId, scopes } = await hub.call('GET /v1/keys/current');
    const shown = input.values['show-key'] === true ? await keyOf(hub.access) : undefined;
    if (context.json) return printJson(context, { url, keyId, keyPlace, scopes, key: shown });
    const rows = [
      ['URL', url],
      ['key', `${keyId}, in ${keyPlace}`],
      ...(shown === undefined ? [] : [['', shown]]),
      ['scopes', scopes.join(', ')],
    ];
    print(context, rows.map(([title = '', text]) => `${title.padEnd(9)}${text}\n`).join(''));
  },
};
