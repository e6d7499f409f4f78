/** A TCP proxy whose network can be made to fail, at any moment, for all of its connections. */

import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export type Fault =
  | 'none'
  /** Connections are taken and kept, and no byte comes through in either direction. */
  | 'silence'
  /** What is sent arrives, and the answers are lost. */
  | 'no-answers'
  /** Connections are reset, new ones too. */
  | 'reset'
  /** Answers come through at this pace. */
  | { bytesPerSecond: number }
  /** The answer to what holds this text resets its connection instead of coming through. */
  | { resetInAnswerTo: string }
  /** Connections over which this text came in receive no more answers. */
  | { noAnswersTo: string }
  | Cut;

/**
 * After this number of bytes in one direction, over all connections, those that there are break or become silent, and
 * the fault ends.
 */
export interface Cut {
  cutIn: 'requests' | 'answers';
  afterBytes: number;
  how: 'reset' | 'silence';
}

export interface FaultyNetwork {
  port: number;
  /** In force at once; what silence has lost stays lost. */
  fault: Fault;
  /** The connections that receive no more answers because of `noAnswersTo`. */
  readonly unanswered: number;
  /** The connections that were opened so far. */
  readonly opened: number;
  /** Resets the connections there are. */
  resetAll(): void;
  close(): void;
}

export async function startNetwork(target: { host: string; port: number }): Promise<FaultyNetwork> {
  const clients = new Set<Socket>();
  const unanswered = new Set<Socket>();
  const silent = new Set<Socket>();
  let opened = 0;
  const server = createServer((client) => {
    opened++;
    clients.add(client);
    client.on('close', () => {
      for (const those of [clients, unanswered, silent]) those.delete(client);
    });
    client.on('error', () => {});
    if (network.fault === 'reset') client.resetAndDestroy();
    else pass(client, { target, network, unanswered, silent, cut });
  });
  const resetAll = () => {
    for (const client of clients) client.resetAndDestroy();
  };
  const cut = (how: Cut['how']) => {
    network.fault = 'none';
    if (how === 'reset') resetAll();
    else for (const client of clients) silent.add(client);
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  let fault: Fault = 'none';
  const network: FaultyNetwork = {
    port: (server.address() as AddressInfo).port,
    get fault() {
      return fault;
    },
    set fault(next) {
      fault = next;
      if (next === 'reset') resetAll();
    },
    get unanswered() {
      return unanswered.size;
    },
    get opened() {
      return opened;
    },
    resetAll,
    close: () => {
      server.close();
      resetAll();
    },
  };
  return network;
}

interface Passing {
  target: { host: string; port: number };
  network: FaultyNetwork;
  unanswered: Set<Socket>;
  silent: Set<Socket>;
  cut(how: Cut['how']): void;
}

function pass(client: Socket, { target, network, unanswered, silent, cut }: Passing): void {
  const origin = connect(target);
  const passed = (direction: Cut['cutIn'], bytes: Buffer): Buffer => {
    const { fault } = network;
    if (!isCut(fault) || fault.cutIn !== direction) return bytes;
    const left = fault.afterBytes;
    network.fault = { ...fault, afterBytes: left - bytes.length };
    return left < bytes.length ? bytes.subarray(0, left) : bytes;
  };
  const cutIfDue = () => {
    if (isCut(network.fault) && network.fault.afterBytes < 0) cut(network.fault.how);
  };
  let answersReset = false;
  origin.on('error', () => client.resetAndDestroy());
  origin.on('close', () => {
    if (network.fault !== 'silence' && !silent.has(client)) client.end();
  });
  client.on('close', () => origin.destroy());
  client.on('data', (bytes) => {
    if (network.fault === 'silence' || silent.has(client)) return;
    if (isUnanswered(network.fault) && bytes.includes(network.fault.noAnswersTo)) unanswered.add(client);
    if (isReset(network.fault) && bytes.includes(network.fault.resetInAnswerTo)) answersReset = true;
    origin.write(passed('requests', bytes));
    cutIfDue();
  });
  origin.on('data', (all) => {
    if (silent.has(client)) return;
    const bytes = passed('answers', all);
    const { fault } = network;
    if (answersReset) client.resetAndDestroy();
    else if (fault === 'silence' || fault === 'no-answers' || client.destroyed || unanswered.has(client))
      return;
    else if (!client.write(bytes) || isSlow(fault)) {
      origin.pause();
      const pauseMs = isSlow(fault) ? (1_000 * bytes.length) / fault.bytesPerSecond : 0;
      if (pauseMs > 0) setTimeout(() => origin.resume(), pauseMs);
      else client.once('drain', () => origin.resume());
    }
    cutIfDue();
  });
}

const isSlow = (fault: Fault) => typeof fault === 'object' && 'bytesPerSecond' in fault;
const isReset = (fault: Fault) => typeof fault === 'object' && 'resetInAnswerTo' in fault;
const isCut = (fault: Fault): fault is Cut => typeof fault === 'object' && 'cutIn' in fault;
const isUnanswered = (fault: Fault) => typeof fault === 'object' && 'noAnswersTo' in fault;
