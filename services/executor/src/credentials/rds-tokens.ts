/**
 * Log-ins by AWS RDS IAM. Instead of a password, the server accepts a token: a URL that is signed with AWS credentials
 * and valid for 15 minutes. A token proves the operator's identity. So only accounts that the operator lists with user
 * and host get tokens, and only over verified TLS.
 */

import { createHash, createHmac } from 'node:crypto';
import { HubError } from '@datahub/service-kit/call/error';
import { bareName } from '../network/host-names.ts';
import type { Connection, ConnectSettings } from '../ports/engine.ts';

export interface AwsCredentials {
  accessKeyId: string;
  secretAccessKey: string;
  /** Set for temporary credentials. */
  sessionToken?: string;
}

export interface AllowedLogIn {
  accountId: string;
  user: string;
  host: string;
}

export interface RdsIamSettings {
  allowed: readonly AllowedLogIn[];
  /**
   * The hub uses no other credentials. AWS's default chain would read files, run programs and call metadata addresses.
   */
  credentials: AwsCredentials | undefined;
}

type Subject = Required<Pick<ConnectSettings, 'host' | 'port' | 'user'>> & { region: string };

type Connect = (settings: ConnectSettings, currentPassword: () => Promise<string>) => Promise<Connection>;

export interface RdsTokens {
  /** Connects with a token. If the server refuses a cached token, tries once more with a new one. */
  connect(accountId: string, settings: ConnectSettings, connect: Connect): Promise<Connection>;
}

const validMs = 15 * 60_000;
/** A token is not used in its last minutes, because clocks differ and a log-in takes time. */
const renewBeforeMs = 3 * 60_000;
const tokensMax = 1_000;

export function createRdsTokens(settings: RdsIamSettings, nowMs: () => number): RdsTokens {
  const tokens = new Map<string, { text: Promise<string>; signedAt: number }>();
  const tokenOf = (subject: Subject, credentials: AwsCredentials) => {
    const key = JSON.stringify(subject);
    const forget = () => tokens.delete(key);
    const held = tokens.get(key);
    if (held !== undefined && nowMs() - held.signedAt < validMs - renewBeforeMs)
      return { text: held.text, isNew: false, forget };
    forget();
    const [oldest] = tokens.keys();
    if (tokens.size >= tokensMax && oldest !== undefined) tokens.delete(oldest);
    const text = signToken(subject, credentials, new Date(nowMs()));
    tokens.set(key, { text, signedAt: nowMs() });
    text.catch(forget);
    return { text, isNew: true, forget };
  };
  return {
    connect: async (accountId, source, connect) => {
      const { host, port, user, passwordFrom } = source;
      const credentials = settings.credentials;
      if (passwordFrom === undefined || credentials === undefined || !isAllowed(settings, accountId, source))
        throw notAllowed();
      const subject = { host: bareName(host), port, user, region: passwordFrom.region };
      const attempt = async (token: ReturnType<typeof tokenOf>) => {
        try {
          const password = await token.text;
          return await connect({ ...source, password }, () => tokenOf(subject, credentials).text);
        } catch (err) {
          if (isRefused(err)) token.forget();
          throw err;
        }
      };
      const token = tokenOf(subject, credentials);
      return attempt(token).catch((err) => {
        if (token.isNew || !isRefused(err)) throw err;
        return attempt(tokenOf(subject, credentials));
      });
    },
  };
}

const isRefused = (err: unknown) => err instanceof HubError && err.code === 'SOURCE_AUTH';

function isAllowed({ allowed }: RdsIamSettings, accountId: string, source: ConnectSettings): boolean {
  const { host, user, tls } = source;
  if (tls.mode !== 'verify-full' || (source.hosts?.length ?? 0) > 0) return false;
  return allowed.some(
    (one) => one.accountId === accountId && one.user === user && bareName(one.host) === bareName(host),
  );
}

function notAllowed(): HubError {
  return new HubError(
    'SOURCE_AUTH',
    'The hub’s operator does not allow this source to log in with aws-rds-iam. Ask for its account, user and host to be listed.',
    { stage: 'connect', retryable: false },
  );
}

/** Parses an entry `account/user@host` of the setting. Returns undefined if it has another form. */
export function parseAllowed(entry: string): AllowedLogIn | undefined {
  const [, accountId, user, host] = /^([^/\s]+)\/(.+)@([^@\s/]+)$/.exec(entry) ?? [];
  return accountId && user && host ? { accountId, user, host } : undefined;
}

async function signToken(subject: Subject, credentials: AwsCredentials, signingDate: Date): Promise<string> {
  const { host, port, user, region } = subject;
  const { SignatureV4 } = await import('@smithy/signature-v4');
  const signer = new SignatureV4({ service: 'rds-db', region, credentials, sha256: Sha256 });
  const request = {
    method: 'GET',
    protocol: 'https:',
    hostname: host,
    port,
    path: '/',
    query: { Action: 'connect', DBUser: user },
    headers: { host: `${host}:${port}` },
  };
  const { query = {} } = await signer.presign(request, { expiresIn: validMs / 1_000, signingDate });
  const parts = Object.entries(query).map(([name, value]) => `${escaped(name)}=${escaped(String(value))}`);
  return `${host}:${port}/?${parts.join('&')}`;
}

/** Percent-encodes as RFC 3986 does, because AWS signatures cover that form. */
const escaped = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);

/** The hash implementation that the signer of the AWS SDK needs. */
class Sha256 {
  readonly #secret: string | Uint8Array | undefined;
  readonly #chunks: (string | Uint8Array)[] = [];

  constructor(secret?: unknown) {
    this.#secret = secret as string | Uint8Array | undefined;
  }

  update(chunk: string | Uint8Array): void {
    this.#chunks.push(chunk);
  }

  async digest(): Promise<Uint8Array> {
    const hash = this.#secret === undefined ? createHash('sha256') : createHmac('sha256', this.#secret);
    for (const chunk of this.#chunks) hash.update(chunk);
    return hash.digest();
  }

  reset(): void {
    this.#chunks.length = 0;
  }
}
