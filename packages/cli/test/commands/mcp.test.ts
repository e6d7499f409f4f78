import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { readLines } from '../../src/read-input.ts';
import { runCommandLine } from '../../src/run-command.ts';

/** The answers to lines of input, of a hub that answers with `answer` or, without one, with a connection that ends. */
async function answersTo(lines: string | Buffer, answer: object | undefined) {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    text(request).then((sent) => {
      if (request.url === '/mcp') bodies.push(sent);
      const body = request.url === '/mcp' ? answer : { scopes: ['*'] };
      if (body === undefined) request.socket.destroy();
      else response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const env = { DATAHUB_URL: `http://127.0.0.1:${port}`, DATAHUB_API_KEY: 'k' };
  stdin.end(lines);
  const code = await runCommandLine(['mcp'], { stdin, stdout, stderr, env });
  for (const stream of [stdout, stderr]) stream.end();
  const written = await text(stdout);
  const answers = written
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  server.closeAllConnections();
  server.close();
  return { answers, bodies, code, written, notes: await text(stderr) };
}

async function linesOf(chunks: readonly Buffer[], bytesMax: number): Promise<(string | undefined)[]> {
  const lines: (string | undefined)[] = [];
  for await (const line of readLines(Readable.from(chunks), bytesMax)) lines.push(line);
  return lines;
}

const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };

it('mcp answers lines that are no messages, and goes on', async () => {
  const lines = `null\n5\n"text"\n{\n${JSON.stringify(ping)}\n`;
  const { answers, code, notes } = await answersTo(lines, { jsonrpc: '2.0', id: 1, result: {} });
  expect(answers.map(({ error, result }) => error?.code ?? result)).toEqual([
    ...[-32_600, -32_600, -32_600, -32_700],
    {},
  ]);
  expect([code, notes]).toEqual([0, '']);
});

it('mcp passes a list of messages on', async () => {
  const answer = [{ jsonrpc: '2.0', id: 1, result: {} }];
  expect((await answersTo(`${JSON.stringify([ping])}\n`, answer)).answers).toEqual([answer]);
});

it('mcp says of a call without an answer that it may have been carried out', async () => {
  const { answers } = await answersTo(`${JSON.stringify({ ...ping, method: 'tools/call' })}\n`, undefined);
  expect(answers).toMatchObject([
    { id: 1, error: { message: expect.stringContaining('may have been made') } },
  ]);
});

it('mcp ends messages at line feeds only, wherever their bytes are cut', async () => {
  const lines = ['\u2028\u2029\u0085', 'é'].map((t) => JSON.stringify({ ...ping, params: { t } }));
  const { bodies } = await answersTo(`${lines[0]}\r\n\n${lines[1]}`, { jsonrpc: '2.0', id: 1, result: {} });
  expect(bodies.map((body) => body.trim()).sort()).toEqual(lines.toSorted());
  for (const size of [1, 7, 1_000]) {
    const bytes = Buffer.from(lines.join('\n'));
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
      bytes.subarray(i * size, (i + 1) * size),
    );
    expect(await linesOf(chunks, 1_000)).toEqual(lines);
  }
});

it('mcp refuses a line that is too long or no UTF-8, holds none of it, and goes on', async () => {
  const chunks = ['ab', 'cd', 'e\nf', 'ghi\n', Buffer.from([0xe9, 0x0a]), 'j'].map((part) =>
    Buffer.from(part),
  );
  expect(await linesOf(chunks, 4)).toEqual([...[undefined, 'fghi', undefined, 'j']]);
  const line = Buffer.from(`"\xe9"\n${JSON.stringify(ping)}\n`, 'latin1');
  const { answers } = await answersTo(line, { jsonrpc: '2.0', id: 1, result: {} });
  expect(answers.map(({ error, id }) => error?.code ?? id)).toEqual([-32_700, 1]);
});

it('mcp keeps the digits of an id in its own errors', async () => {
  const line = '{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/call"}\n';
  const { written } = await answersTo(line, undefined);
  expect(written).toContain('"id":9007199254740993,');
});
