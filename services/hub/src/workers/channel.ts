/** Questions and answers between the supervisor and one of its processes, over their IPC channel. */

import type { ChildProcess } from 'node:child_process';

interface Asked {
  /** A method, so that an answer may name the type of the value that its question has. */
  answer(value: unknown): unknown;
}

export type Answers = Record<string, Asked['answer']>;

export interface Channel {
  /** Rejects with the other side's message if its answer fails, if none comes in time, or if the channel closes. */
  ask(name: string, value?: unknown, timeoutMs?: number): Promise<unknown>;
}

/** One end: `process` in a child, the `ChildProcess` in its parent. */
type End = NodeJS.Process | ChildProcess;

interface Message {
  /** Node's own messages, and those of libraries, have another one or none. */
  channel?: 'datahub';
  id: number;
  /** Of a question; an answer has none. */
  name?: string;
  value?: unknown;
  fault?: string;
}

interface Pending {
  resolve(value: unknown): void;
  reject(err: Error): void;
}

const timeoutDefaultMs = 10_000;

export function openChannel(end: End, answers: Answers = {}): Channel {
  const pending = new Map<number, Pending>();
  let lastId = 0;
  const send = (message: Message, onFailure: (err: Error) => void) => {
    if (!end.connected || end.send === undefined) return onFailure(new Error('The channel is closed.'));
    const whole = { ...message, channel: 'datahub' };
    end.send(whole, undefined, undefined, (err) => err !== null && onFailure(err));
  };
  const answer = async ({ id, name = '', value }: Message) => {
    const reply = await Promise.resolve(value)
      .then((given) => {
        const found = answers[name];
        if (found === undefined) throw new Error(`Nobody answers "${name}".`);
        return found(given);
      })
      .then(
        (result): Message => ({ id, value: result }),
        (err): Message => ({ id, fault: (err as Error).message }),
      );
    // A process that has ended waits for no answer.
    send(reply, () => {});
  };
  const emitter: NodeJS.EventEmitter = end;
  emitter.on('message', (message: Message) => {
    if (message?.channel !== 'datahub') return;
    if (message.name !== undefined) return void answer(message);
    const asked = pending.get(message.id);
    if (message.fault === undefined) asked?.resolve(message.value);
    else asked?.reject(new Error(message.fault));
  });
  emitter.on('disconnect', () => {
    for (const { reject } of pending.values()) reject(new Error('The process has ended.'));
  });

  return {
    ask: async (name, value, timeoutMs = timeoutDefaultMs) => {
      lastId++;
      const id = lastId;
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      pending.set(id, { resolve, reject });
      const timer = setTimeout(
        () => reject(new Error(`No answer to "${name}" within ${timeoutMs} ms.`)),
        timeoutMs,
      );
      send({ id, name, value }, reject);
      return promise.finally(() => {
        clearTimeout(timer);
        pending.delete(id);
      });
    },
  };
}
