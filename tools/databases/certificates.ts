/** A CA and certificates for the test servers. */

import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from './process.ts';

export interface Certificates {
  /** Paths of PEM files. */
  ca: string;
  cert: string;
  key: string;
}

export interface Certificate {
  /** The base name of its files. */
  name: string;
  subject?: string;
  alternatives?: string;
  /** Days of validity from now; -1 for an expired certificate. */
  days?: number;
}

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

/** Creates a CA in `dir`. Resolves with a function that issues certificates. */
export async function createAuthority(
  dir: string,
): Promise<(certificate: Certificate) => Promise<Certificates>> {
  await mkdir(dir, { recursive: true });
  const path = (name: string) => join(dir, name);
  const openssl = (...args: string[]) => run('openssl', args, { cwd: dir });
  const own = ['-keyout', 'ca.key', '-out', 'ca.crt', '-days', '2', '-subj', '/CN=test CA'];
  await openssl('req', '-x509', ...newKey, ...own);
  return async ({ name, subject = 'localhost', alternatives = 'DNS:localhost,IP:127.0.0.1', days = 2 }) => {
    const [key, request, cert] = [`${name}.key`, `${name}.csr`, `${name}.crt`];
    await openssl('req', ...newKey, '-keyout', key, '-out', request, '-subj', `/CN=${subject}`);
    await writeFile(path('names'), `subjectAltName=${alternatives}\n`);
    const sign = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', 'names'];
    await openssl('x509', '-req', '-in', request, ...sign, '-days', String(days), '-out', cert);
    await chmod(path(key), 0o644);
    return { ca: path('ca.crt'), cert: path(cert), key: path(key) };
  };
}

/** One certificate for localhost and 127.0.0.1. */
export async function createCertificates(dir: string): Promise<Certificates> {
  const sign = await createAuthority(dir);
  return sign({ name: 'server' });
}

/** The ids of a system user. Needed only if this process is root and the server refuses to run as root. */
export async function idOfUser(name: string): Promise<{ uid: number; gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const lines = (await readFile('/etc/passwd', 'utf8')).split('\n');
  const [, , uid, gid] = lines.find((line) => line.startsWith(`${name}:`))?.split(':') ?? [];
  return uid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) };
}
