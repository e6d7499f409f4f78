/** A PostgreSQL that turns on its client, at the log-in or while a statement runs. */

import type { Socket } from 'node:net';
import { Format } from '@datahub/proto/executor/v1/executor';
import type { Play } from './plays.ts';
import { cut, drip, flood, noise } from './rogue.ts';

export function message(type: string, ...parts: (Buffer | string)[]): Buffer {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part as string, 'latin1')));
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body]);
}

const int32 = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};
const int16 = (value: number) => Buffer.from([value >> 8, value & 0xff]);
const field = (name: string, type: number) =>
  Buffer.concat([Buffer.from(`${name}\0`), int32(0), int16(0), int32(type), int16(4), int32(-1), int16(0)]);
const value = (text: string) => Buffer.concat([int32(text.length), Buffer.from(text)]);

export const ready = message('Z', 'I');
const completeAs = (tag: string) => message('C', `${tag}\0`);
const complete = completeAs('SELECT 1');
const columns = (types: number[]) =>
  message('T', int16(types.length), ...types.map((type, i) => field(`c${i}`, type)));
const textArray = 1009;
const sameNames: Buffer[] = new Array(65_535).fill(field('c', 23));
const row = (...texts: string[]) => message('D', int16(texts.length), ...texts.map(value));
const authentication = (kind: number, ...more: (Buffer | string)[]) => message('R', int32(kind), ...more);
export const welcome = Buffer.concat([authentication(0), message('K', int32(1), int32(2)), ready]);
const notice = message('N', `SNOTICE\0C00000\0M${'x'.repeat(8_000)}\0\0`);

type Step = (socket: Socket) => void;

interface Script {
  /** In place of the welcome. */
  logIn?: Step;
  /** In place of what describing the statement answers. */
  describe?: Step;
  /** In place of the answer to a question of the hub itself about types. */
  ask?: Step;
  /** In place of its rows. */
  execute?: Step;
  /** After that it does as any server. */
  goesOn?: boolean;
}

const startMessage = 196_608;
const sslRequest = 80_877_103;

const nameAt = (bytes: Buffer, at: number) => bytes.toString('latin1', at, bytes.indexOf(0, at));

/** Asked what a type is made of, it names another one. */
function answerAbout(typeId: string): Buffer {
  const answer = typeId === '' ? row('15.0', 'UTF8') : row(typeId, 'x', String(Number(typeId) + 1), '0');
  return Buffer.concat([columns([25, 25]), answer, complete, ready]);
}

function perform(script: Script): Step {
  return (socket) => {
    let started = false;
    const marked = new Set<string>();
    const tags = new Map<string, string>();
    let current = '';
    let turned = false;
    const lengthOf = (bytes: Buffer) =>
      started
        ? bytes.length < 5
          ? 0
          : 1 + bytes.readInt32BE(1)
        : bytes.length < 4
          ? 0
          : bytes.readInt32BE(0);
    const begin = (bytes: Buffer) => {
      const code = bytes.readInt32BE(4);
      if (code === sslRequest) socket.write('N');
      else if (code === startMessage) {
        started = true;
        if (script.logIn) script.logIn(socket);
        else socket.write(welcome);
      } else socket.destroy();
    };
    const answers: Record<string, (bytes: Buffer) => void> = {
      Q: (bytes) => {
        const [, id = ''] = /pg_type WHERE oid IN \((\d+)/.exec(bytes.toString('latin1')) ?? [];
        if (id !== '' && script.ask) script.ask(socket);
        else socket.write(answerAbout(id));
      },
      P: (bytes) => {
        current = nameAt(bytes, 5);
        // The unnamed statement is another one each time.
        marked.delete(current);
        if (bytes.includes('hostile')) marked.add(current);
        const verb = nameAt(bytes, 6 + current.length).split(' ')[0] as string;
        tags.set(current, verb === 'SELECT' ? 'SELECT 1' : verb);
        socket.write(message('1'));
      },
      D: () => {
        if (marked.has(current) && script.describe) script.describe(socket);
        else
          socket.write(
            Buffer.concat([message('t', int16(0)), marked.has(current) ? columns([23]) : message('n')]),
          );
      },
      B: (bytes) => {
        current = nameAt(bytes, 6);
        socket.write(message('2'));
      },
      E: () => {
        if (marked.has(current) && script.execute) {
          turned = !script.goesOn;
          script.execute(socket);
        } else socket.write(completeAs(tags.get(current) ?? ''));
      },
      S: () => socket.write(ready),
      C: () => socket.write(message('3')),
    };
    cut(socket, lengthOf, (bytes) => {
      if (turned) return;
      if (!started) begin(bytes);
      else answers[String.fromCharCode(bytes[0] as number)]?.(bytes);
    });
  };
}

const send = (...parts: Buffer[]): Step => {
  const bytes = Buffer.concat(parts);
  return (socket) => socket.write(bytes);
};
const gibibyte = int32(1_073_741_820);
const head = (type: string, length: Buffer) => Buffer.concat([Buffer.from(type), length]);

/** A salt and a count of rounds for SCRAM, whatever the client said, as many times. */
const scramStart =
  (rounds: number, times: number): Step =>
  (socket) => {
    socket.write(authentication(10, 'SCRAM-SHA-256\0\0'));
    cut(
      socket,
      (bytes) => (bytes.length < 5 ? 0 : 1 + bytes.readInt32BE(1)),
      (bytes) => {
        const nonce = /r=([^,]+)$/.exec(bytes.toString('latin1'))?.[1];
        const first = authentication(11, `r=${nonce}more,s=c2FsdHNhbHQ=,i=${rounds}`);
        if (nonce) socket.write(Buffer.concat(new Array(times).fill(first)));
      },
    );
  };

function manyTypes(): Step {
  let id = 987_654;
  const type = () => row(String(id), 'x', String(++id), '0');
  return (socket) =>
    socket.write(
      Buffer.concat([columns([25, 25]), ...Array.from({ length: 10_000 }, type), complete, ready]),
    );
}

/** A server that answers each statement with a column of each of `count` types. */
export function typed(count: number): Step {
  const ids = Array.from({ length: count }, (_, i) => 987_654 + i);
  const rows = ids.map((id) => row(String(id), `type_${id}`, '0', '0', 'f'));
  return perform({
    describe: send(message('t', int16(0)), columns(ids)),
    ask: send(columns([25, 25]), ...rows, complete, ready),
    execute: send(completeAs('SELECT 0')),
    goesOn: true,
  });
}

export const postgresPlays: Play[] = [
  { name: 'says nothing', play: () => {}, codes: ['SOURCE_UNREACHABLE'], lasts: true },
  { name: 'answers noise', play: send(noise), codes: ['SOURCE_TLS', 'SOURCE_UNREACHABLE'] },
  {
    name: 'sends noise for a log-in',
    play: perform({ logIn: send(noise) }),
    codes: ['SOURCE_UNREACHABLE'],
    lasts: true,
  },
  {
    name: 'never ends its log-in',
    play: perform({ logIn: (socket) => drip(socket, message('S', 'a\0b\0'), 5) }),
    codes: ['SOURCE_UNREACHABLE'],
    lasts: true,
  },
  {
    name: 'floods the log-in with notices',
    play: perform({ logIn: (socket) => flood(socket, notice) }),
    codes: ['SOURCE_UNREACHABLE'],
  },
  {
    name: 'announces 1 GiB at the log-in and sends it',
    play: perform({
      logIn: (socket) => {
        socket.write(head('S', gibibyte));
        flood(socket, noise);
      },
    }),
    codes: ['SOURCE_UNREACHABLE'],
  },
  {
    name: 'announces a negative length at the log-in',
    play: perform({ logIn: send(head('R', int32(-2)), noise) }),
    codes: ['SOURCE_UNREACHABLE'],
  },
  {
    name: 'asks for the password in clear text',
    play: perform({ logIn: send(authentication(3)) }),
    codes: ['SOURCE_AUTH'],
  },
  {
    name: 'asks for a log-in that nobody knows',
    play: perform({ logIn: send(authentication(99)) }),
    codes: ['SOURCE_UNREACHABLE', 'SOURCE_AUTH'],
  },
  {
    name: 'asks for two thousand million rounds',
    play: perform({ logIn: scramStart(2_147_483_647, 1) }),
    codes: ['SOURCE_AUTH'],
  },
  {
    // Deriving keys takes turns with all other log-ins, so each request would delay them.
    name: 'asks two thousand times for the keys of one log-in',
    play: perform({ logIn: scramStart(16_384, 2_000) }),
    codes: ['SOURCE_AUTH'],
  },
  {
    name: 'sends an error without its end at the log-in',
    play: perform({ logIn: send(message('E', 'SFATAL')) }),
    codes: ['SOURCE_UNREACHABLE'],
    lasts: true,
  },
  {
    name: 'announces a row of 1 GiB and sends it',
    play: perform({
      execute: (socket) => {
        socket.write(head('D', gibibyte));
        flood(socket, noise);
      },
    }),
    codes: ['SQL_REJECTED'],
  },
  {
    name: 'announces 1 GiB of something else',
    play: perform({ execute: send(head('C', gibibyte)) }),
    codes: ['SOURCE_BROKEN'],
  },
  {
    name: 'answers a statement with noise',
    play: perform({ execute: send(noise) }),
    codes: ['SOURCE_BROKEN'],
  },
  {
    name: 'sends an error without its end',
    play: perform({ execute: send(message('E', 'SERROR'), ready, ready) }),
    codes: ['SQL_REJECTED'],
  },
  {
    name: 'describes 65,535 columns and sends one',
    play: perform({ describe: send(message('t', int16(0)), message('T', int16(65_535), field('a', 23))) }),
    codes: ['SOURCE_BROKEN'],
  },
  {
    name: 'has types of types without end',
    play: perform({ describe: send(message('t', int16(0)), columns([987_654])) }),
    codes: ['SQL_REJECTED'],
  },
  {
    name: 'answers a question of the hub with empty rows without end',
    play: perform({
      describe: send(message('t', int16(0)), columns([987_654])),
      ask: (socket) => flood(socket, row()),
    }),
    codes: ['SQL_REJECTED'],
  },
  {
    name: 'answers each question about a type with 10,000 types of types',
    play: perform({ describe: send(message('t', int16(0)), columns([987_654])), ask: manyTypes() }),
    codes: ['SQL_REJECTED'],
  },
  {
    name: 'sends a row that is shorter than its field',
    play: perform({ execute: send(message('D', int16(1), int32(1_000_000), '1')) }),
    codes: ['SOURCE_BROKEN'],
  },
  ...['', '123', '12345678'].map((bytes) => ({
    name: `sends a binary integer of ${bytes.length} bytes`,
    play: perform({ execute: send(row(bytes), complete), goesOn: true }),
    codes: ['SOURCE_BROKEN'],
    format: Format.FORMAT_ARROW,
  })),
  {
    name: 'describes columns that nobody asked for in front of its rows',
    play: perform({ execute: send(columns([25, 25]), row('1234', '5678'), complete), goesOn: true }),
    codes: ['SOURCE_BROKEN'],
    format: Format.FORMAT_ARROW,
  },
  {
    name: 'describes fewer columns after its first row',
    play: perform({ execute: send(row('1'), columns([]), row(), complete), goesOn: true }),
    codes: ['SOURCE_BROKEN'],
  },
  {
    name: 'floods a statement with notices',
    play: perform({ execute: (socket) => flood(socket, notice) }),
    codes: ['STATEMENT_TIMEOUT'],
    lasts: true,
  },
  {
    name: 'asks for a file in the middle of a statement',
    play: perform({ goesOn: true, execute: send(message('G', Buffer.from([0]), int16(0))) }),
    codes: ['SOURCE_BROKEN'],
  },
  {
    name: 'asks for files without end and reads no answer',
    play: perform({
      execute: (socket) => {
        socket.pause();
        flood(socket, message('G'));
      },
    }),
    codes: ['SOURCE_BROKEN'],
  },
  {
    name: 'describes 65,535 columns of one name',
    play: perform({ describe: send(message('t', int16(0)), message('T', int16(65_535), ...sameNames)) }),
    codes: ['SOURCE_BROKEN'],
  },
  ...['{"a', '{"a}', '{"a\\', '{"', '[0:1]{1}'].map((text) => ({
    name: `sends the array ${text}, which has no end`,
    play: perform({
      describe: send(message('t', int16(0)), columns([textArray])),
      execute: send(row(text), complete),
      goesOn: true,
    }),
    codes: ['SOURCE_BROKEN'],
  })),
  {
    name: 'sends a state that is a member of all objects',
    play: perform({ execute: send(message('E', 'C__proto__\0Mrefused\0\0')), goesOn: true }),
    codes: ['SQL_REJECTED'],
  },
];
