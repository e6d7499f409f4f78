/** Checks the bastion of a source, and its secret: a private key or a password. */

import type { EngineName } from '@datahub/contract/engines';
import { sourceLimits } from '@datahub/contract/limits';
import { defaultSshPort, readHostKey, type SshAddress } from '@datahub/contract/source-settings';
import type { FieldPath } from '@datahub/contract/validation-error';
import type { Ssh } from '@datahub/proto/catalog/v1/catalog';
import type { Checker } from '../check.ts';
import type { SourceDoc } from '../documents.ts';
import { checkHost } from './hosts.ts';
import { changedSecret } from './secrets.ts';

type SshDoc = NonNullable<SourceDoc['ssh']>;

/** The new secrets; undefined for one that stays unchanged, empty for one that is removed. */
export interface SshSecrets {
  privateKey: string | undefined;
  password: string | undefined;
}

export const sshFields = ['privateKey', 'password'] as const;

const pathOf = (...names: string[]): FieldPath => ['connectionSettings', 'ssh', ...names];

/** Leaves out the secrets. */
export const sshAddressOf = ({ host, port, user, hostKey }: SshAddress): SshAddress => ({
  host,
  port,
  user,
  hostKey,
});

/** An empty host removes the bastion; absent members stay unchanged. */
export function checkSshAddress(
  check: Checker,
  given: Ssh | undefined,
  current: SshDoc | undefined,
): SshAddress | undefined {
  if (given === undefined) return current && sshAddressOf(current);
  if (given.host === '') return undefined;
  const text = (name: 'host' | 'user' | 'hostKey'): string => {
    const value = given[name] ?? current?.[name];
    if (value === undefined) check.fault(pathOf(name), 'is missing');
    return value?.trim() ?? '';
  };
  const [host, user, hostKey] = [text('host'), text('user'), text('hostKey')];
  if (host !== '') checkHost(check, host, pathOf('host'));
  if (user !== '' || given.user !== undefined) check.text(pathOf('user'), user, sourceLimits.sshUserLength);
  if ((hostKey !== '' || given.hostKey !== undefined) && readHostKey(hostKey) === undefined)
    check.fault(pathOf('hostKey'), hostKeyFault);
  const port = given.port || (given.port === undefined ? current?.port : undefined) || defaultSshPort;
  return { host, port: check.integer(pathOf('port'), port, sourceLimits.port), user, hostKey };
}

const hostKeyFault =
  'must be the fingerprint SHA256:… or the line of a public key (ssh-ed25519, ecdsa-sha2-nistp… or ssh-rsa), as ssh-keyscan prints it';

interface SecretsInput {
  ssh: SshAddress | undefined;
  given: Ssh | undefined;
  current?: SshDoc | undefined;
  engine: EngineName;
}

/** A bastion has exactly one secret: a new one replaces the other. */
export function checkSshSecrets(check: Checker, { ssh, given, current, engine }: SecretsInput): SshSecrets {
  if (ssh === undefined) return { privateKey: undefined, password: undefined };
  const fresh = (name: 'privateKey' | 'password') =>
    changedSecret(check, `ssh.${name}`, { value: given?.[name], current: current?.[name], engine });
  const secrets = { privateKey: fresh('privateKey')?.trim(), password: fresh('password') };
  if (secrets.privateKey && given?.password === undefined && current?.password) secrets.password = '';
  if (secrets.password && given?.privateKey === undefined && current?.privateKey) secrets.privateKey = '';
  if (secrets.privateKey) checkPrivateKey(check, secrets.privateKey);
  const has = (name: 'privateKey' | 'password') =>
    secrets[name] === undefined ? current?.[name] !== undefined : secrets[name] !== '';
  if (has('privateKey') && has('password'))
    check.fault(pathOf(), 'must have privateKey or password, not both');
  if (!has('privateKey') && !has('password')) check.fault(pathOf(), 'must have privateKey or password');
  return secrets;
}

const keyShape =
  /^-----BEGIN (OPENSSH|RSA|EC) PRIVATE KEY-----\r?\n([\s\S]+)\r?\n-----END \1 PRIVATE KEY-----$/;
/** What follows the magic of OpenSSH's format: the name of its cipher. */
const noCipher = Buffer.from('openssh-key-v1\0\0\0\0\x04none');

/** The key is sealed like a password, so it has none of its own. */
function checkPrivateKey(check: Checker, text: string): void {
  const [, format, body = ''] = keyShape.exec(text) ?? [];
  if (format === undefined) {
    check.fault(
      pathOf('privateKey'),
      'must be a private key in the format of OpenSSH, or of PEM for RSA or EC; ssh-keygen -p converts others',
    );
    return;
  }
  const isEncrypted =
    format === 'OPENSSH'
      ? !Buffer.from(body, 'base64').subarray(0, noCipher.length).equals(noCipher)
      : body.includes('ENCRYPTED');
  if (isEncrypted)
    check.fault(
      pathOf('privateKey'),
      'must have no passphrase, because the hub itself encrypts it; ssh-keygen -p removes the passphrase of a copy',
    );
}
