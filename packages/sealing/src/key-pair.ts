/** Sealing keys as text, `<key id>:<base64url>`. The id derives from the public key, so both keys of a pair have the same. */

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

/** Derives the public key from a private key. */
export async function publicKeyOf(privateKey: string): Promise<string> {
  const { bytes } = parseKey(privateKey);
  const { kem } = createSuite();
  const key = await kem.deserializePrivateKey(toArrayBuffer(bytes));
  const publicBytes = Buffer.from(await kem.serializePublicKey(key));
  return `${idOf(publicBytes)}:${publicBytes.toString('base64url')}`;
}

/** Reads the private keys of a file: one on each line, the newest first. */
export async function readKeyFile(path: string): Promise<string[]> {
  const lines = (await readFile(path, 'utf8')).split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '');
}

/**
 * Reads the private keys of a file. If there is no file, creates one with a new key and owner-only permissions, unless
 * `mayCreate` finds that credentials are sealed already. An existing file is not written, so the hub starts on a full disk.
 */
export async function loadKeyFile(path: string, mayCreate = async () => true): Promise<string[]> {
  if (!existsSync(path)) {
    if (!(await mayCreate())) {
      throw new HubError(
        'VALIDATION',
        `${path} is missing, but the store has credentials that are sealed to its keys. Restore the file. If it is lost, run \`npm run datahub -- store forget-credentials\`: it removes the credentials and keeps everything else.`,
      );
    }
    await createKeyFile(path);
  }
  if (((await stat(path)).mode & 0o777) !== 0o600) await chmod(path, 0o600);
  const keys = await readKeyFile(path);
  const fault =
    keys.length === 0 ? 'It contains no key.' : keys.map(faultOfKey).find((one) => one !== undefined);
  if (fault !== undefined) throw new HubError('VALIDATION', `${path} cannot be used: ${fault}`);
  return keys;
}

/**
 * Creates the file atomically and never replaces one, so that processes that start at the same time read the same keys.
 * File and directory are synced before anything is sealed, because what is sealed to a lost key is lost.
 */
async function createKeyFile(path: string): Promise<void> {
  const { privateKey } = await generateKeyPair();
  const draft = `${path}.${randomUUID()}`;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
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

/** Windows cannot open directories, and persists names itself. */
async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/** What is wrong with a key of a setting; undefined if it is well formed. It never contains the key. */
export function faultOfKey(text: string): string | undefined {
  try {
    parseKey(text);
    return undefined;
  } catch (err) {
    return (err as Error).message;
  }
}

/** The same for a public key, which must match its id: nothing could open what is sealed to another key. */
export function faultOfPublicKey(text: string): string | undefined {
  const fault = faultOfKey(text);
  if (fault !== undefined) return fault;
  const { id, bytes } = parseKey(text);
  if (id === idOf(bytes)) return undefined;
  return `The text after ${id} is not the public key of this id: it is the private key, or has a typo.`;
}

/** The same for a private key. */
export async function faultOfPrivateKey(text: string): Promise<string | undefined> {
  const fault = faultOfKey(text);
  if (fault !== undefined) return fault;
  const { id } = parseKey(text);
  if (id === parseKey(await publicKeyOf(text)).id) return undefined;
  return `The text after ${id} is not the private key of this id: it is the public key, or has a typo.`;
}

export function parseKey(text: string): { id: string; bytes: Buffer } {
  const [id = '', key = '', ...rest] = text.split(':');
  const bytes = Buffer.from(key, 'base64url');
  if (rest.length > 0 || !/^[\w-]{1,64}$/.test(id) || bytes.length !== 32) {
    throw new Error('A sealing key must have the form <id>:<32 bytes as base64url>.');
  }
  return { id, bytes };
}

function idOf(publicBytes: Buffer): string {
  return createHash('sha256').update(publicBytes).digest('hex').slice(0, 16);
}
