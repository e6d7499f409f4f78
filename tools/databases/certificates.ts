/** Certificates for the test servers: a CA of their own, and one certificate for localhost and 127.0.0.1. */

import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from './process.ts';

export interface Certificates {
  /** Paths of PEM files. */
  ca: string;
  cert: string;
  key: string;
}

export async function createCertificates(dir: string): Promise<Certificates> {
  await mkdir(dir, { recursive: true });
  const path = (name: string) => join(dir, name);
  const openssl = (...args: string[]) => run('openssl', args, { cwd: dir });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  await openssl(
    'req',
    '-x509',
    ...newKey,
    '-keyout',
    'ca.key',
    '-out',
    'ca.crt',
    '-days',
    '2',
    '-subj',
    '/CN=test CA',
  );
  await openssl('req', ...newKey, '-keyout', 'server.key', '-out', 'server.csr', '-subj', '/CN=localhost');
  await writeFile(path('names'), 'subjectAltName=DNS:localhost,IP:127.0.0.1\n');
  const sign = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', 'names'];
  await openssl('x509', '-req', '-in', 'server.csr', ...sign, '-out', 'server.crt');
  await chmod(path('server.key'), 0o644);
  return { ca: path('ca.crt'), cert: path('server.crt'), key: path('server.key') };
}

/** A system user's ids, wanted only where we are root and the server refuses to be. */
export async function idOfUser(name: string): Promise<{ uid: number; gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const lines = (await readFile('/etc/passwd', 'utf8')).split('\n');
  const [, , uid, gid] = lines.find((line) => line.startsWith(`${name}:`))?.split(':') ?? [];
  return uid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) };
}
