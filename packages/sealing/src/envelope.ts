/**
 * A sealed secret as text: `v1:<key id>:<encapsulated key>:<ciphertext>`, both parts base64url. HPKE (RFC 9180) in base
 * mode with DHKEM(X25519, HKDF-SHA256), HKDF-SHA256 and AES-256-GCM. The plain text is padded to hide its length.
 */

export type SecretField = 'user' | 'password' | 'tls.key' | 'ssh.privateKey' | 'ssh.password';

/** The context that an envelope is bound to. It can be decrypted only for this field of this source at this address. */
export interface SealBinding {
  sourceId: string;
  engine: string;
  host: string;
  port: number;
  tlsMode: string;
  /** Further hosts that receive the secret, and the mechanism; absent for one host and the default mechanism. */
  hosts?: readonly { host: string; port: number }[] | undefined;
  srv?: boolean | undefined;
  authMechanism?: string | undefined;
  /** The provider of the password. It is bound, so that a change in the store cannot add one to a source. */
  passwordFrom?: { kind: string; region: string } | undefined;
  /** The bastion, which receives its own secrets, and those of the database if they are sent without TLS. */
  ssh?: { host: string; port: number; user: string; hostKey: string } | undefined;
  field: SecretField;
}

export interface Envelope {
  keyId: string;
  encapsulated: Buffer;
  ciphertext: Buffer;
}

const version = 'v1';
const paddingBytes = 64;

/** Domain separation from other uses of the same keys. */
export const sealingInfo = new TextEncoder().encode('datahub source credential v1');

/** Encodes the binding as JSON, so that members cannot run into each other. */
export function toAssociatedData(binding: SealBinding): Uint8Array<ArrayBuffer> {
  const {
    sourceId,
    engine,
    host,
    port,
    tlsMode,
    field,
    hosts = [],
    srv = false,
    authMechanism = '',
    passwordFrom,
    ssh,
  } = binding;
  const members: unknown[] = [sourceId, engine, host, port, tlsMode, field];
  // Envelopes of older versions do not have these members.
  if (hosts.length > 0 || srv || authMechanism !== '' || passwordFrom !== undefined || ssh !== undefined)
    members.push(
      hosts.map((other) => [other.host, other.port]),
      srv,
      authMechanism,
    );
  if (passwordFrom !== undefined) members.push([passwordFrom.kind, passwordFrom.region]);
  if (ssh !== undefined) members.push(['ssh', ssh.host, ssh.port, ssh.user, ssh.hostKey]);
  return new TextEncoder().encode(JSON.stringify(members));
}

export function toText({ keyId, encapsulated, ciphertext }: Envelope): string {
  return [version, keyId, encapsulated.toString('base64url'), ciphertext.toString('base64url')].join(':');
}

/** Returns undefined if the text is not an envelope in canonical form. */
export function parseEnvelope(text: string): Envelope | undefined {
  const [, keyId = '', encapsulated = '', ciphertext = ''] = text.split(':');
  const envelope = {
    keyId,
    encapsulated: Buffer.from(encapsulated, 'base64url'),
    ciphertext: Buffer.from(ciphertext, 'base64url'),
  };
  return toText(envelope) === text ? envelope : undefined;
}

/** Adds a marker byte, then zeros up to the block size. */
export function pad(plain: string): Uint8Array<ArrayBuffer> {
  const bytes = new TextEncoder().encode(plain);
  const padded = new Uint8Array(Math.ceil((bytes.length + 1) / paddingBytes) * paddingBytes);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  return padded;
}

export function unpad(padded: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(padded.subarray(0, padded.lastIndexOf(0x80)));
}
