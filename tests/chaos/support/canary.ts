/** Secrets that are easy to find again, in whatever form they come by. */

import { randomBytes } from 'node:crypto';

export interface Canary {
  user: string;
  password: string;
  /** What could be a client's private key, and is none. */
  tlsKey: string;
  /** Forms of any of these in a text or in bytes: which secret, as what. */
  find(text: string | Buffer): string[];
}

/** The parts that are looked for stay the same however the rest is escaped. */
export function createCanary(): Canary {
  const cores = {
    user: randomBytes(8).toString('hex'),
    password: randomBytes(8).toString('hex'),
    tlsKey: randomBytes(8).toString('hex'),
  };
  const needles = Object.entries(cores).flatMap(([name, core]) =>
    formsOf(core).map(([form, needle]) => ({ name: `${name} (${form})`, needle })),
  );
  return {
    user: `us-${cores.user}`,
    password: `pw ${cores.password} %/+"&ü`,
    tlsKey: `-----BEGIN PRIVATE KEY-----\n${cores.tlsKey}${'A'.repeat(32)}\n-----END PRIVATE KEY-----\n`,
    find: (text) => needles.filter(({ needle }) => text.includes(needle)).map(({ name }) => name),
  };
}

/** Base 64 has three, by where the text begins within a group of three bytes; its edges are not the core's alone. */
function formsOf(core: string): [form: string, needle: string][] {
  const base64 = [0, 1, 2].map((at): [string, string] => {
    const text = Buffer.from('-'.repeat(at) + core).toString('base64');
    return ['base64', text.slice(at === 0 ? 0 : 4, 20)];
  });
  return [
    ['plain', core],
    ['reversed', [...core].reverse().join('')],
    ['hexadecimal', Buffer.from(core).toString('hex')],
    ['URL-encoded', [...core].map((one) => `%${one.charCodeAt(0).toString(16)}`).join('')],
    ['two bytes a character', Buffer.from(core, 'utf16le').toString('latin1')],
    ...base64,
  ];
}
