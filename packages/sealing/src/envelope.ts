/**
 * A sealed secret as text: `v1:<key id>:<encapsulated key>:<ciphertext>`, both parts base64url. HPKE (RFC 9180) in base
 * mode with DHKEM(X25519, HKDF-SHA256), HKDF-SHA256 and AES-256-GCM. The plain text is padded, so that its length is
 * not told.
 */

export type SecretField = 'user' | 'password' | 'tls.key';

/** What an envelope is bound to: it opens for this source at this address and for nothing else. */
export interface SealBinding {
  sourceId: string;
  engine: string;
  host: string;
  port: number;
  tlsMode: string;
  /** Where else, and how, the secret is given away; absent where it is to one host in the default way. */
  hosts?: readonly { host: string; port: number }[] | undefined;
  srv?: boolean | undefined;
  authMechanism?: string | undefined;
  field: SecretField;
}

export interface Envelope {
  keyId: string;
  encapsulated: Buffer;
  ciphertext: Buffer;
}

const version = 'v1';
const paddingBytes = 64;

/** Separates these envelopes from everything else the same keys might ever seal. */
export const sealingInfo = new TextEncoder().encode('datahub source credential v1');

/** JSON keeps the members apart, whatever they contain. */
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
  } = binding;
  const members: unknown[] = [sourceId, engine, host, port, tlsMode, field];
  // What was sealed before these were known has none of them.
  if (hosts.length > 0 || srv || authMechanism !== '')
    members.push(
      hosts.map((other) => [other.host, other.port]),
      srv,
      authMechanism,
    );
  return new TextEncoder().encode(JSON.stringify(members));
}

export function toText({ keyId, encapsulated, ciphertext }: Envelope): string {
  return [version, keyId, encapsulated.toString('base64url'), ciphertext.toString('base64url')].join(':');
}

/** Undefined when the text is no envelope in its one spelling. */
export function parseEnvelope(text: string): Envelope | undefined {
  const [found, keyId = '', encapsulated = '', ciphertext = ''] = text.split(':');
  const envelope = {
    keyId,
    encapsulated: Buffer.from(encapsulated, 'base64url'),
    ciphertext: Buffer.from(ciphertext, 'base64url'),
  };
  return found === version && toText(envelope) === text ? envelope : undefined;
}

/** One marker byte, then zeros up to the next block. */
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
