/** `datahub mcp`: passes the messages of an agent on standard input on to `POST /mcp` of the hub. */

import { ProblemError } from '@datahub/client';
import type { Command, Context } from '../command.ts';
import { parseExact, writeExact } from '../exact-numbers.ts';
import { CommandError, describeProblem } from '../failure.ts';
import { type Hub, noAnswer, stream } from '../hub.ts';
import { note } from '../output.ts';
import { readLines } from '../read-input.ts';

export const mcp: Command = {
  name: 'mcp',
  summary: 'Serves the tools of the hub to an agent over standard input and output (Model Context Protocol).',
  run: async (_input, context) => {
    const hub = await context.hub();
    if (hub.access.renew !== undefined)
      throw new CommandError(
        `The sign-in of a person is not for agents. Let the agent connect to ${new URL('/mcp', hub.access.url)} by itself, or store a key: datahub login --with key`,
      );
    await hub.call('GET /v1/keys/current');
    const session: McpSession = { hub, context, calls: new Map() };
    const running = new Set<Promise<void>>();
    for await (const line of readLines(context.stdin, lineBytesMax)) {
      if (line?.trim() === '') continue;
      const call = pass(session, line).finally(() => running.delete(call));
      running.add(call);
      if (running.size >= callsMax) await Promise.race(running);
    }
    await Promise.all(running);
  },
};

const callsMax = 32;
/** More than the hub accepts, so that it is the hub that refuses a message. */
const lineBytesMax = 67_108_864;

interface McpSession {
  hub: Hub;
  context: Context;
  /** The revision of the protocol that `initialize` agreed on. */
  version?: string;
  /** By the id of the request, as JSON. */
  calls: Map<string, AbortController>;
}

interface Message {
  id?: unknown;
  method?: string;
  params?: {
    name?: unknown;
    requestId?: unknown;
    _meta?: Readonly<Record<string, unknown>>;
  };
  result?: { protocolVersion?: unknown };
}

const idOf = (id: unknown) => writeExact(id ?? null);

const versionMember = 'io.modelcontextprotocol/protocolVersion';

async function pass(session: McpSession, line = ''): Promise<void> {
  let message: Message;
  try {
    message = parseExact(line) as Message;
  } catch {
    return write(session, { jsonrpc: '2.0', id: null, error: { code: -32_700, message: 'Parse error' } });
  }
  if (typeof message !== 'object' || message === null)
    return write(session, { jsonrpc: '2.0', id: null, error: { code: -32_600, message: 'Invalid Request' } });
  if (message.method === 'notifications/cancelled') {
    session.calls.get(idOf(message.params?.requestId))?.abort(new Error('cancelled'));
    return;
  }
  // The hub keeps no sessions, so it needs no other notification. A list of messages has no id.
  if (message.id === undefined && !Array.isArray(message)) return;
  const stop = new AbortController();
  session.calls.set(idOf(message.id), stop);
  try {
    await exchange(session, { message, line, signal: stop.signal });
  } catch (err) {
    if (stop.signal.aborted) return;
    const error = toError(err);
    note(session.context, error.message);
    write(session, { jsonrpc: '2.0', id: message.id ?? null, error });
  } finally {
    session.calls.delete(idOf(message.id));
  }
}

async function exchange(
  session: McpSession,
  { message, line, signal }: { message: Message; line: string; signal: AbortSignal },
): Promise<void> {
  const response = await stream(session.hub, {
    method: 'POST',
    path: 'mcp',
    headers: headersOf(session, message),
    body: line,
    signal,
  });
  const text = await response.text().catch((err) => Promise.reject(noAnswer(err)));
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  for (const one of isStream ? dataOf(text) : [text.trim()]) {
    if (one === '') continue;
    const answer = JSON.parse(one) as Message;
    if (message.method === 'initialize' && typeof answer.result?.protocolVersion === 'string')
      session.version = answer.result.protocolVersion;
    // One message a line, with the digits as the hub wrote them.
    session.context.stdout.write(`${one.replaceAll(/[\r\n]+/g, ' ')}\n`);
  }
}

/** The parts of a message that streamable HTTP repeats in headers. */
function headersOf({ version }: McpSession, { method, params }: Message): Record<string, string> {
  const own = params?._meta?.[versionMember];
  const revision = typeof own === 'string' ? own : version;
  return {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...(revision === undefined || method === 'initialize' ? {} : { 'mcp-protocol-version': revision }),
    ...(typeof own === 'string' && method !== undefined ? { 'mcp-method': method } : {}),
    ...(typeof own === 'string' && typeof params?.name === 'string' ? { 'mcp-name': params.name } : {}),
  };
}

/** The data of each event (server-sent events). */
function dataOf(text: string): string[] {
  return text.split(/\r?\n\r?\n/).map((event) =>
    event
      .split(/\r?\n/)
      .flatMap((line) => (line.startsWith('data:') ? [line.slice(5).replace(/^ /, '')] : []))
      .join('\n'),
  );
}

function toError(err: unknown): { code: number; message: string; data?: object } {
  const message = err instanceof Error ? err.message : String(err);
  if (!(err instanceof ProblemError)) return { code: -32_603, message };
  return { code: -32_603, message: describeProblem(err), data: { code: err.code, status: err.status } };
}

function write({ context }: McpSession, message: object): void {
  context.stdout.write(`${writeExact(message)}\n`);
}
