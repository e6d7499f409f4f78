import { defaultUrl, profilePath, writeProfile } from '../access.ts';
import { type Command, type Context, textOf } from '../command.ts';
import { CommandError } from '../failure.ts';
import { openHub } from '../hub.ts';
import { note, print, printJson } from '../output.ts';

export const login: Command = {
  name: 'login',
  summary: 'Stores the URL of a hub and a key in a profile that only you can read.',
  options: {
    url: { type: 'string', value: 'URL', help: `The hub, by default DATAHUB_URL or ${defaultUrl}.` },
  },
  run: async (input, context) => {
    const { env } = context;
    const url = textOf(input, 'url') ?? (env.DATAHUB_URL || defaultUrl);
    if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
      throw new CommandError(`${url} is not the URL of a hub, such as https://hub.example.`);
    const key = (await readKey(context)).trim();
    if (key === '') throw new CommandError('There is no key on standard input.');
    const hub = openHub({ url, key, keyPlace: profilePath(env) });
    const { keyId, scopes } = await hub.call('GET /v1/keys/current');
    const profile = await writeProfile(env, { url, key });
    if (context.json) return printJson(context, { url, keyId, scopes, profile });
    print(context, `The profile ${profile} has the key ${keyId} for ${url}.`);
  },
};

/** A key is no argument, because other users of the machine can see arguments. */
async function readKey(context: Context): Promise<string> {
  const { stdin, stderr } = context;
  if (stdin.isTTY !== true) {
    let text = '';
    for await (const chunk of stdin) text += chunk;
    return text;
  }
  stderr.write('Key: ');
  stdin.setRawMode?.(true);
  stdin.setEncoding('utf8');
  try {
    return await readHiddenLine(stdin);
  } finally {
    stdin.setRawMode?.(false);
    stdin.pause();
    note(context, '');
  }
}

function readHiddenLine(stdin: Context['stdin']): Promise<string> {
  return new Promise((resolve, reject) => {
    let line = '';
    const onData = (text: string) => {
      for (const character of text) {
        if (character === '\u0003') return end(() => reject(new CommandError('Cancelled.')));
        if (character === '\r' || character === '\n' || character === '\u0004')
          return end(() => resolve(line));
        line = character === '\u007f' ? line.slice(0, -1) : line + character;
      }
    };
    const end = (settle: () => void) => {
      stdin.removeListener('data', onData);
      settle();
    };
    stdin.on('data', onData);
    stdin.once('end', () => end(() => resolve(line)));
  });
}
