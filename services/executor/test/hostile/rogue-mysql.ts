/** Hostile MySQL servers, which attack their client at the log-in or while a statement runs. */

import type { Socket } from 'node:net';
import type { Play } from './plays.ts';
import { cut, drip, flood, noise } from './rogue.ts';

export function packet(sequence: number, ...parts: (Buffer | string | number[])[]): Buffer {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part as string, 'latin1')));
  return Buffer.concat([head(body.length, sequence), body]);
}

const head = (length: number, sequence: number) =>
  Buffer.from([length & 0xff, (length >> 8) & 0xff, (length >> 16) & 0xff, sequence]);
const int32 = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};

const capabilities = 0x000f_a20f & ~0x0800;
const scramble = 'abcdefghijklmnopqrst';

export function greeting({ plugin = 'mysql_native_password', version = '8.0.30', tls = false } = {}): Buffer {
  const flags = tls ? capabilities | 0x0800 : capabilities;
  return packet(
    0,
    [10],
    `${version}\0`,
    int32(7),
    `${scramble.slice(0, 8)}\0`,
    [flags & 0xff, (flags >> 8) & 0xff, 45, 2, 0, (flags >> 16) & 0xff, (flags >> 24) & 0xff, 21],
    Buffer.alloc(10),
    `${scramble.slice(8)}\0${plugin}\0`,
  );
}

export const ok = (sequence: number) => packet(sequence, [0, 0, 0, 2, 0, 0, 0]);
/** An OK with the status of a read-only transaction. */
const begun = packet(1, [0, 0, 0, 3, 0x20, 0, 0]);
/** Answers one of the hub's own commands as a real server does. */
export const answerCommand = (socket: Socket, text: string) =>
  socket.write(text.includes('READ ONLY') ? begun : ok(1));
const eof = packet(3, [0xfe, 0, 0, 2, 0]);
export const switchTo = (sequence: number, plugin: string) =>
  packet(sequence, [0xfe], `${plugin}\0${scramble}\0`);
const text = (value: string) => Buffer.concat([Buffer.from([value.length]), Buffer.from(value)]);
const column = (type: number) =>
  packet(2, ...['def', '', '', '', 'c', 'c'].map(text), [12, 45, 0, 255, 0, 0, 0, type, 0, 0, 0, 0, 0]);
/** The response to a statement with a row of one integer. */
export const oneRow = (value: number) =>
  Buffer.concat([
    packet(1, [1]),
    column(3),
    eof,
    packet(4, [0, 0], int32(value)),
    packet(5, [0xfe, 0, 0, 3, 0]),
  ]);

type Step = (socket: Socket) => void;

interface Script {
  greet?: Step;
  /** Answers the client's `turn`th message of the log-in. */
  logIn?: (socket: Socket, turn: number) => void;
  /** Answers one of the hub's own commands with this text. */
  command?: (socket: Socket, text: string) => void;
  prepare?: Step;
  execute?: Step;
  quit?: Step;
}

const lengthOf = (bytes: Buffer) => (bytes.length < 4 ? 0 : 4 + bytes.readUIntLE(0, 3));
const prepared = packet(1, [0], int32(1), [0, 0, 0, 0, 0, 0, 0]);

export function perform(script: Script): Step {
  return (socket) => {
    let turn = 0;
    let loggedIn = false;
    let turned = false;
    const commands: Record<number, (text: string) => void> = {
      1: () => (script.quit ? script.quit(socket) : socket.end()),
      3: (text) => {
        if (script.command) script.command(socket, text);
        else answerCommand(socket, text);
      },
      22: () => (script.prepare ? script.prepare(socket) : socket.write(prepared)),
      23: () => {
        turned = script.execute !== undefined;
        if (script.execute) script.execute(socket);
        else socket.write(ok(1));
      },
    };
    cut(socket, lengthOf, (bytes) => {
      if (turned) return;
      if (loggedIn) commands[bytes[4] as number]?.(bytes.toString('latin1', 5));
      else if (script.logIn) script.logIn(socket, ++turn);
      else {
        loggedIn = true;
        socket.write(ok(2));
      }
    });
    if (script.greet) script.greet(socket);
    else socket.write(greeting());
  };
}

const send = (...parts: Buffer[]): Step => {
  const bytes = Buffer.concat(parts);
  return (socket) => socket.write(bytes);
};
const sendAll = (bytes: (turn: number) => Buffer) => (socket: Socket, turn: number) =>
  socket.write(bytes(turn));
const longest = 0xff_ffff;

/** The longest packet. A sequence of these is one endless payload. */
const longestPacket = Buffer.alloc(4 + longest, 0x61);
head(longest, 1).copy(longestPacket);
const unendingPacket: Step = (socket) => flood(socket, longestPacket);

/** `path` is a file that the client can read. */
export const mysqlPlays = (path: string): Play[] => [
  { name: 'says nothing', play: () => {}, codes: ['SOURCE_UNREACHABLE'], lasts: true },
  {
    name: 'greets with noise',
    play: perform({ greet: send(noise) }),
    codes: ['SOURCE_UNREACHABLE'],
    lasts: true,
  },
  {
    name: 'greets with half a greeting',
    play: perform({ greet: send(packet(0, greeting().subarray(4, 12))) }),
    codes: ['SOURCE_UNREACHABLE'],
  },
  {
    name: 'greets with 16 MiB',
    play: perform({ greet: unendingPacket }),
    codes: ['SOURCE_UNREACHABLE'],
  },
  {
    name: 'never ends its greeting',
    play: perform({ greet: (socket) => drip(socket, packet(0, [10], 'x'.repeat(60_000)), 5) }),
    codes: ['SOURCE_UNREACHABLE'],
    lasts: true,
  },
  {
    name: 'asks for the password in clear text',
    play: perform({ logIn: sendAll(() => switchTo(2, 'mysql_clear_password')) }),
    codes: ['SOURCE_AUTH'],
  },
  {
    name: 'greets with the log-in in clear text',
    play: perform({
      greet: send(greeting({ plugin: 'mysql_clear_password' })),
      logIn: sendAll((turn) => switchTo(2 * turn, 'mysql_clear_password')),
    }),
    codes: ['SOURCE_AUTH'],
  },
  {
    name: 'greets with a log-in that needs TLS',
    play: perform({
      greet: send(greeting({ plugin: 'sha256_password' })),
      logIn: sendAll((turn) => switchTo(2 * turn, 'sha256_password')),
    }),
    codes: ['SOURCE_UNREACHABLE', 'SOURCE_AUTH'],
    lasts: true,
  },
  {
    name: 'asks for the old authentication method',
    play: perform({ logIn: sendAll(() => packet(2, [0xfe])) }),
    codes: ['SOURCE_AUTH', 'SOURCE_UNREACHABLE'],
  },
  {
    name: 'asks for an unknown authentication method',
    play: perform({ logIn: sendAll(() => switchTo(2, '__proto__')) }),
    codes: ['SOURCE_AUTH'],
  },
  {
    name: 'switches the authentication method endlessly',
    play: perform({ logIn: sendAll((turn) => switchTo((2 * turn) & 0xff, 'mysql_native_password')) }),
    codes: ['SOURCE_AUTH', 'SOURCE_UNREACHABLE'],
    lasts: true,
  },
  {
    name: 'asks for a file at the log-in',
    play: perform({ logIn: sendAll(() => packet(2, [0xfb], path)) }),
    codes: ['SOURCE_UNREACHABLE', 'SOURCE_AUTH'],
  },
  {
    name: 'asks for a file in answer to a setting',
    play: perform({ command: send(packet(1, [0xfb], path)) }),
    codes: ['SOURCE_UNREACHABLE'],
  },
  {
    name: 'asks for a file in answer to a statement',
    play: perform({ execute: send(packet(1, [0xfb], path)) }),
    codes: ['SOURCE_BROKEN'],
  },
  {
    name: 'answers a statement with noise',
    play: perform({ execute: send(noise) }),
    codes: ['SOURCE_BROKEN', 'STATEMENT_TIMEOUT'],
    lasts: true,
  },
  {
    name: 'answers a preparation with noise',
    play: perform({ prepare: send(noise.subarray(1)) }),
    codes: ['SOURCE_BROKEN', 'STATEMENT_TIMEOUT'],
    lasts: true,
  },
  {
    name: 'prepares 65,535 columns, and sends none of them',
    play: perform({ prepare: send(packet(1, [0], int32(1), [0xff, 0xff, 0, 0, 0, 0, 0])) }),
    codes: ['SOURCE_BROKEN', 'STATEMENT_TIMEOUT'],
    lasts: true,
  },
  {
    name: 'announces 2 ** 63 columns',
    play: perform({ execute: send(packet(1, [0xfe, 0, 0, 0, 0, 0, 0, 0, 0x80])) }),
    codes: ['SOURCE_BROKEN'],
  },
  {
    name: 'announces a result without columns',
    play: perform({ execute: send(packet(1, [0xfc, 0, 0])) }),
    codes: ['SOURCE_BROKEN'],
  },
  {
    name: 'sends an incomplete column definition',
    play: perform({ execute: send(packet(1, [1]), packet(2, [250], 'x')) }),
    codes: ['SOURCE_BROKEN'],
  },
  {
    name: 'sends an unknown type, and a row that is too short for it',
    play: perform({
      execute: send(packet(1, [1]), column(0xe7), eof, packet(4, [0, 0, 0xfc, 0xff, 0xff, 0x61])),
    }),
    codes: ['SOURCE_BROKEN'],
  },
  {
    name: 'sends an endless row',
    play: perform({
      execute: (socket) => {
        socket.write(Buffer.concat([packet(1, [1]), column(0xfd), eof]));
        unendingPacket(socket);
      },
    }),
    codes: ['SQL_REJECTED'],
  },
  {
    name: 'sends endless results',
    play: perform({ execute: (socket) => flood(socket, packet(1, [0, 0, 0, 0x0a, 0, 0, 0])) }),
    codes: ['STATEMENT_TIMEOUT'],
    lasts: true,
  },
];
