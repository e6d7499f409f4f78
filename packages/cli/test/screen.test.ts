import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { commands } from '../src/commands.ts';
import { runCommandLine } from '../src/run-command.ts';
import { createOutput, type Stream, visible } from '../src/screen.ts';

const hostile = 'a\u001b]0;x\u0007\u009b2J\u202eb\u007f\rc';
const shown = 'a\\u001b]0;x\\u0007\\u009b2J\\u202eb\\u007f\\u000dc';

const opened = (isTTY: boolean) => Object.assign(new PassThrough(), { isTTY });

async function written(write: (stream: Stream) => void, isTTY = true): Promise<string> {
  const stream = opened(isTTY);
  write(stream);
  stream.end();
  return text(stream);
}

describe('an output', () => {
  it('shows what would control the terminal', async () => {
    expect(visible(hostile)).toBe(shown);
    expect(JSON.parse(`"${shown}"`)).toBe(hostile);
    const result = await written((stream) => {
      const output = createOutput(stream, { env: {}, isData: true });
      output.write(`${hostile}\r\n\té語🙂\n`);
      output.rewriteLine(hostile);
    });
    expect(result).toBe(`${shown}\n\té語🙂\n\r\u001b[K${shown}`);
  });

  it.each([
    ['\u2028\u2029\u200b\ufeff\u00ad\u2060\u061c', '\\u2028\\u2029\\u200b\\ufeff\\u00ad\\u2060\\u061c'],
    ['\u{e0041}\u{e0fff}', '\\udb40\\udc41\\udb43\\udfff'],
    ['a\ud800b', 'a\\ud800b'],
    ['a\u200db\u200cc, e\u0301\u200d', 'a\\u200db\\u200cc, e\u0301\\u200d'],
    ['\u200da', '\\u200da'],
  ])('shows %j, which would be invisible', (text, expected) => {
    expect(visible(text)).toBe(expected);
    expect(JSON.parse(`"${expected}"`)).toBe(text);
  });

  it.each([
    '👩‍👩‍👧 🏳️‍🌈 👩🏽‍💻 ❤️',
    'می‌خواهم',
    'क्‍ष',
    'ശ്രീ‍',
    '\u0600\u0661',
    '葛\u{e0100}',
    'e\u0301, ไทย, 日本語',
  ])('keeps the ordinary text %s', (text) => {
    expect(visible(text)).toBe(text);
  });

  it('keeps the bytes of data in a file or a pipe, but shows messages there, too', async () => {
    const at = (isData: boolean) =>
      written((stream) => {
        const output = createOutput(stream, { env: {}, isData });
        output.write(`${hostile}\r\n`, 'red');
        output.rewriteLine('10 %');
      }, false);
    expect(await at(true)).toBe(`${hostile}\r\n`);
    expect(await at(false)).toBe(`${shown}\n`);
  });

  it('colours only on a terminal, and not with NO_COLOR', async () => {
    const red = (env: Record<string, string>) =>
      written((stream) => createOutput(stream, { env, isData: true }).write(`x${hostile}`, 'red'));
    expect(await red({})).toBe(`\u001b[31mx${shown}\u001b[0m`);
    expect(await red({ NO_COLOR: '1' })).toBe(`x${shown}`);
  });
});

/** Plausible words for every command, so that each one calls the hub. */
const words: Readonly<Record<string, string[]>> = {
  run: ['h/q'],
  predict: ['c', 'a text'],
  summarize: ['a text'],
  'keys list': [],
  'keys create': ['--name', 'n'],
  'keys rotate': ['k'],
  'keys revoke': ['k'],
  whoami: [],
  export: ['h', '/nonexistent/dir'],
  plan: ['.'],
  types: ['h'],
};

describe('a hub that answers with control characters', () => {
  const server = createServer((request, response) => {
    const body = JSON.stringify({
      status: 422,
      title: hostile,
      detail: hostile,
      code: hostile,
      [hostile]: hostile,
    });
    request.resume().on('end', () => {
      response.setHeader('content-type', 'application/problem+json');
      response.writeHead(422).end(body);
    });
  });
  afterEach(() => server.closeAllConnections());

  it.each(commands.flatMap(({ name }) => (words[name] ? [name] : [])))(
    'does not control the terminal: %s',
    async (name) => {
      if (!server.listening) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as AddressInfo;
      const [stdin, stdout, stderr] = [new PassThrough(), opened(true), opened(true)];
      stdin.end();
      const env = { DATAHUB_URL: `http://127.0.0.1:${port}`, DATAHUB_API_KEY: 'k', NO_COLOR: '1' };
      const code = await runCommandLine([...name.split(' '), ...(words[name] ?? [])], {
        stdin,
        stdout,
        stderr,
        env,
      });
      for (const stream of [stdout, stderr]) stream.end();
      const all = (await text(stdout)) + (await text(stderr));
      expect(code).not.toBe(0);
      expect(all).not.toMatch(/[^\P{Cc}\n\t]|\p{Bidi_Control}/u);
    },
  );
});
