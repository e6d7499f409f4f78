/** Sealing keys as texts: `<key id>:<base64url>`, the id made from the public key, so that a pair always agrees. */

import { createHash, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, link, mkdir, open, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { HubError } from '@datahub/service-kit/call/error';
import { toArrayBuffer } from './array-buffer.ts';
import { createSuite } from './suite.ts';

export interface KeyPair {
  publicKey: string;
  privateKey: string;
}

export async function generateKeyPair(): Promise<KeyPair> {
  const { kem } = createSuite();
  const pair = await kem.generateKeyPair();
  const publicBytes = Buffer.from(await kem.serializePublicKey(pair.publicKey));
  const privateBytes = Buffer.from(await kem.serializePrivateKey(pair.privateKey));
  const id = idOf(publicBytes);
  return {
    publicKey: `${id}:${publicBytes.toString('base64url')}`,
    privateKey: `${id}:${privateBytes.toString('base64url')}`,
  };
}

/** The public key that belongs to a private one. */
export async function publicKeyOf(privateKey: string): Promise<string> {
  const { bytes } = parseKey(privateKey);
  const { kem } = createSuite();
  const key = await kem.deserializePrivateKey(toArrayBuffer(bytes));
  const publicBytes = Buffer.from(await kem.serializePublicKey(key));
  return `${idOf(publicBytes)}:${publicBytes.toString('base64url')}`;
}

/** The private keys in a file, one a line, newest first. */
export async function readKeyFile(path: string): Promise<string[]> {
  const lines = (await readFile(path, 'utf8')).split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '');
}

/**
 * The same; where there is no file yet, one is made with a new key, readable by its owner alone, unless `mayMake` finds
 * that something is sealed already. Without need nothing is written, so a full disk stops no start.
 */
export async function loadKeyFile(path: string, mayMake = async () => true): Promise<string[]> {
  if (!existsSync(path)) {
    if (!(await mayMake())) {
      throw new HubError(
        'VALIDATION',
        `${path} is missing, and credentials in the store are sealed to its keys. Put the file back. Without it, remove the store as well to begin anew.`,
      );
    }
    await makeKeyFile(path);
  }
  if (((await stat(path)).mode & 0o777) !== 0o600) await chmod(path, 0o600);
  const keys = await readKeyFile(path);
  const fault =
    keys.length === 0 ? 'It holds no key.' : keys.map(faultOfKey).find((one) => one !== undefined);
  if (fault !== undefined) throw new HubError('VALIDATION', `${path} cannot be used: ${fault}`);
  return keys;
}

/**
 * Whole or not at all, and never over a file that is there: whoever starts beside us reads the same keys. On disk, with
 * its name, before anything is sealed: what is sealed to a lost key is lost as well.
 */
async function makeKeyFile(path: string): Promise<void> {
  const { privateKey } = await generateKeyPair();
  const draft = `${path}.${randomUUID()}`;
  await mkdir(dirname(path), { recursive: true });
  try {
    await writeFile(draft, `${privateKey}\n`, { mode: 0o600, flag: 'wx', flush: true });
    await link(draft, path).catch((err) => {
      if ((err as NodeJS.ErrnoException).code !== 'EEXIST') throw err;
    });
  } finally {
    await rm(draft, { force: true });
  }
  await syncDirectory(dirname(path));
}

/** Windows opens no directories, and keeps names by itself. */
async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/** A fault of a key given by setting; undefined when it is well formed. Never repeats the key. */
export function faultOfKey(text: string): string | undefined {
  try {
    parseKey(text);
    return undefined;
  } catch (err) {
    return (err as Error).message;
  }
}

/** The same for a public key, which must be the one that its id is made from: nothing opens what is sealed to another. */
export function faultOfPublicKey(text: string): string | undefined {
  const fault = faultOfKey(text);
  if (fault !== undefined) return fault;
  const { id, bytes } = parseKey(text);
  if (id === idOf(bytes)) return undefined;
  return `The text after ${id} is not its public key: it is the private one, or was mistyped.`;
}

/** The same for a private key. */
export async function faultOfPrivateKey(text: string): Promise<string | undefined> {
  const fault = faultOfKey(text);
  if (fault !== undefined) return fault;
  const { id } = parseKey(text);
  if (id === parseKey(await publicKeyOf(text)).id) return undefined;
  return `The text after ${id} is not its private key: it is the public one, or was mistyped.`;
}

export function parseKey(text: string): { id: string; bytes: Buffer } {
  const [id = '', key = '', ...rest] = text.split(':');
  const bytes = Buffer.from(key, 'base64url');
  if (rest.length > 0 || !/^[\w-]{1,64}$/.test(id) || bytes.length !== 32) {
    throw new Error('A sealing key has the form <id>:<32 bytes as base64url>.');
  }
  return { id, bytes };
}

function idOf(publicBytes: Buffer): string {
  return createHash('sha256').update(publicBytes).digest('hex').slice(0, 16);
}
