import { defaultUrl, profilePath, writeProfile } from '../access.ts';
import { type Command, type Context, textOf } from '../command.ts';
import { CommandError } from '../failure.ts';
import { openHub } from '../hub.ts';
import { note, print, printJson } from '../output.ts';
import { signInWithBrowser } from '../sign-in/browser.ts';
import { findServer, type Server } from '../sign-in/server.ts';

export const login: Command = {
  name: 'login',
  summary: 'Signs in to a hub with a browser, or stores a key, in a profile that only you can read.',
  options: {
    url: { type: 'string', value: 'URL', help: `The hub, by default DATAHUB_URL or ${defaultUrl}.` },
    with: {
      type: 'string',
      value: 'WAY',
      choices: ['browser', 'key'],
      help: 'By default the key on standard input, and on a terminal the browser if the hub has this.',
    },
  },
  run: async (input, context) => {
    const { env } = context;
    const url = textOf(input, 'url') ?? (env.DATAHUB_URL || defaultUrl);
    if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
      throw new CommandError(`${url} is not the URL of a hub, such as https://hub.example.`);
    const way = textOf(input, 'with') ?? (context.stdin.isTTY === true ? undefined : 'key');
    const server = way === 'key' ? undefined : await findServer(url);
    if (server !== undefined) return loginWithBrowser(server, context);
    if (way === 'browser')
      throw new CommandError(`At ${url} nobody can sign in with a browser. Use: datahub login --with key`);
    const key = (await readKey(context)).trim();
    if (key === '') throw new CommandError('There is no key on standard input.');
    const hub = openHub({ url, key, keyPlace: profilePath(env) });
    const { keyId, scopes } = await hub.call('GET /v1/keys/current');
    const profile = await writeProfile(env, { url, key });
    if (context.json) return printJson(context, { url, keyId, scopes, profile });
    print(context, `The profile ${profile} has the key ${keyId} for ${url}.`);
  },
};

async function loginWithBrowser(server: Server, context: Context): Promise<void> {
  const { env } = context;
  const show = (address: string) => note(context, `Sign in with your browser at\n${address}`);
  const signIn = await signInWithBrowser(server, { env, show });
  const profile = await writeProfile(env, { url: server.issuer, signIn });
  if (context.json) return printJson(context, { url: server.issuer, profile });
  print(context, `You are signed in at ${server.issuer}. Sign out with: datahub logout`);
}

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
