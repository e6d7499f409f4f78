/** Decrypts a source's credentials when a connection is opened. Plain secrets are not stored anywhere. */

import type { SealedCredentials } from '@datahub/proto/catalog/v1/catalog_internal';
import type { SealBinding, SecretField } from '@datahub/sealing/envelope';
import type { Opener } from '@datahub/sealing/opener';
import { HubError } from '@datahub/service-kit/call/error';
import type { SourceDefinition } from '../definitions/definition.ts';
import type { ConnectSettings } from '../ports/engine.ts';

/** The secrets that a source has. */
export const sealedTextsOf = (sealed: SealedCredentials | undefined): string[] =>
  Object.values(sealed ?? {}).flatMap((text: string | undefined) => text || []);

/** Rejects with UNAVAILABLE if an envelope belongs to another source or address, or if its key is missing. */
export async function unseal(source: SourceDefinition, opener: Opener): Promise<ConnectSettings> {
  const { engine, host, port, database, tls, sealed, authSource, servers, ssh } = source;
  if (sealed.user === '') throw lost();
  const open = (text: string, field: SecretField) => opener.open(text, bindingOf(source, field));
  const openAny = (text: string | undefined, field: SecretField) => (text ? open(text, field) : undefined);
  const [user, password, key, sshKey, sshPassword] = await Promise.all([
    open(sealed.user, 'user'),
    open(sealed.password, 'password'),
    openAny(sealed.tlsKey, 'tls.key'),
    openAny(sealed.sshPrivateKey, 'ssh.privateKey'),
    openAny(sealed.sshPassword, 'ssh.password'),
  ]);
  return {
    engine,
    host,
    port,
    database,
    user,
    password,
    ...(authSource === undefined ? {} : { authSource }),
    ...servers,
    ...(ssh && { ssh: { ...ssh, privateKey: sshKey, password: sshPassword } }),
    tls: key === undefined ? tls : { ...tls, key },
  };
}

export function bindingOf(source: SourceDefinition, field: SecretField): SealBinding {
  const { sourceId, engine, host, port, tls, ssh } = source;
  const { hosts, srv, authMechanism, passwordFrom } = source.servers ?? {};
  const servers = { host, port, tlsMode: tls.mode, hosts, srv, authMechanism, passwordFrom, ssh };
  return { sourceId, engine, ...servers, field };
}

const lost = () =>
  new HubError(
    'UNAVAILABLE',
    'This source has no credentials, because their sealing key was lost. Set user and password again.',
    { stage: 'connect', retryable: false },
  );
