/** Removes credentials that no sealing key opens, so that a hub that lost its keys can start. All other data stays. */

import type { AuditAction } from '@datahub/contract/audit-actions';
import type { CompanionWrite, Doc } from '@datahub/document-store';
import { keyIdOf } from '@datahub/sealing/opener';
import type { CreateId } from '@datahub/service-kit/id';
import { overtaken, untilWritten } from '../catalog.ts';
import type { AuditDoc, Secret, SourceDoc } from '../documents.ts';
import type { DestinationDoc } from '../events/documents.ts';
import type { CatalogStore } from '../store.ts';
import { scanAll } from './deletion-sweep.ts';

export interface ForgetOptions {
  /** The ids of the keys that the hub has. */
  keyIds: ReadonlySet<string>;
  nowMs: () => number;
  createId: CreateId;
  /** False to only list what would be removed. */
  removes: boolean;
}

/** A source or destination whose credentials have to be set again. */
export interface Forgotten {
  kind: 'source' | 'destination';
  id: string;
  label: string;
  accountId: string;
  /** Of the hub of a source. */
  hub?: string;
}

export async function forgetCredentials(store: CatalogStore, options: ForgetOptions): Promise<Forgotten[]> {
  const forgotten: Forgotten[] = [];
  for await (const source of scanAll<SourceDoc>(store.sources)) {
    if (!isLost(sealedOf(source), options)) continue;
    if (options.removes) await forgetSource(store, source, options);
    const { id, accountId, label, hubId } = source;
    const hub = (await store.hubs.get(accountId, hubId))?.label;
    forgotten.push({ kind: 'source', id, label, accountId, ...(hub === undefined ? {} : { hub }) });
  }
  for await (const destination of scanAll<DestinationDoc>(store.destinations)) {
    if (!isLost(sealedIn(destination), options)) continue;
    if (options.removes) await forgetDestination(store, destination, options);
    // Nothing signs mails.
    if (destination.mailTo !== undefined) continue;
    const { id, accountId, label } = destination;
    forgotten.push({ kind: 'destination', id, label, accountId });
  }
  return forgotten;
}

/** True if the store has sealed credentials. A newly generated key could not open them. */
export async function hasCredentials(store: CatalogStore): Promise<boolean> {
  for await (const source of scanAll<SourceDoc>(store.sources)) if (sealedOf(source).length > 0) return true;
  for await (const one of scanAll<DestinationDoc>(store.destinations))
    if (sealedIn(one).length > 0) return true;
  return false;
}

const sealedOf = ({ user, password, tls, ssh }: SourceDoc): string[] =>
  [user, password, tls.key, ssh?.privateKey, ssh?.password].flatMap((secret) => secret?.sealed || []);
const sealedIn = ({ secrets }: DestinationDoc): string[] => secrets.map(({ sealed }) => sealed);

const isLost = (sealed: readonly string[], { keyIds }: ForgetOptions): boolean =>
  sealed.some((text) => !keyIds.has(keyIdOf(text) ?? ''));

const none: Secret = { sealed: '', mask: '' };

function forgetSource(store: CatalogStore, { accountId, id }: Doc, options: ForgetOptions): Promise<void> {
  return untilWritten(async () => {
    const source = await store.sources.get(accountId, id);
    if (source === null || !isLost(sealedOf(source), options)) return;
    const { ssh } = source;
    const { key, ...tls } = source.tls;
    const version = source.version + 1;
    const changed: SourceDoc = {
      ...source,
      user: none,
      password: none,
      tls: key === undefined ? tls : { ...tls, key: none },
      ...(ssh && {
        ssh: { ...ssh, ...(ssh.privateKey && { privateKey: none }), ...(ssh.password && { password: none }) },
      }),
      ...{ version, settingsVersion: version, updatedAt: options.nowMs() },
    };
    if (!(await store.sources.replace(changed, entryOf(source, 'source.update', options)))) return overtaken;
  });
}

/** A webhook is disabled, because nothing would sign its deliveries. */
function forgetDestination(
  store: CatalogStore,
  { accountId, id }: Doc,
  options: ForgetOptions,
): Promise<void> {
  return untilWritten(async () => {
    const destination = await store.destinations.get(accountId, id);
    if (destination === null || !isLost(sealedIn(destination), options)) return;
    const disabledBecause = 'Its secret is lost. Rotate the secret, then enable the destination.';
    const changed: DestinationDoc = {
      ...destination,
      ...(destination.mailTo === undefined ? { disabled: 1, disabledBecause } : {}),
      ...{ secrets: [], version: destination.version + 1, updatedAt: options.nowMs() },
    };
    const entry = entryOf(destination, 'destination.update', options);
    if (!(await store.destinations.replace(changed, entry))) return overtaken;
  });
}

function entryOf({ accountId, id }: Doc, action: AuditAction, options: ForgetOptions): CompanionWrite {
  const at = options.nowMs();
  const doc: AuditDoc = {
    id: options.createId('evt', at),
    ...{ accountId, version: 1, at, keyId: 'operator', action, resourceId: id },
    ...{ requestId: '', count: 1, failed: 0 },
  };
  return { collection: 'audit', doc };
}
