/** The catalog's collections over a document store: which fields are looked up, and what the tree needs of each. */

import {
  type Collection,
  type CollectionSpec,
  type DocumentStore,
  openDocumentStore,
} from '@datahub/document-store';
import type { AgentDoc, ClientDoc } from './agents/documents.ts';
import type {
  AccountDoc,
  AuditDoc,
  BoardDoc,
  FolderDoc,
  HubDoc,
  KeyDoc,
  OperationDoc,
  QueryDoc,
  QueryRunDoc,
  QueryVersionDoc,
  SignatureDoc,
  SlotOwnerDoc,
  SourceCheckDoc,
  SourceDoc,
  SourceLoginDoc,
  WindowDoc,
} from './documents.ts';
import type { AnnouncementDoc, DeliveryDoc, DestinationDoc, EventDoc } from './events/documents.ts';
import { createOneByOne, type OneByOne } from './one-by-one.ts';
import type { GrantDoc, PersonDoc, SessionDoc } from './people/documents.ts';
import type {
  WatchDoc,
  WatchRunDoc,
  WatchRunRowsDoc,
  WatchSnapshotDoc,
  WatchStateDoc,
} from './watches/documents.ts';

export interface CatalogStore {
  accounts: Collection<AccountDoc>;
  keys: Collection<KeyDoc>;
  people: Collection<PersonDoc>;
  sessions: Collection<SessionDoc>;
  grants: Collection<GrantDoc>;
  clients: Collection<ClientDoc>;
  agents: Collection<AgentDoc>;
  hubs: Collection<HubDoc>;
  folders: Collection<FolderDoc>;
  sources: Collection<SourceDoc>;
  queries: Collection<QueryDoc>;
  boards: Collection<BoardDoc>;
  watches: Collection<WatchDoc>;
  watchStates: Collection<WatchStateDoc>;
  watchRuns: Collection<WatchRunDoc>;
  watchSnapshots: Collection<WatchSnapshotDoc>;
  watchRunRows: Collection<WatchRunRowsDoc>;
  events: Collection<EventDoc>;
  destinations: Collection<DestinationDoc>;
  deliveries: Collection<DeliveryDoc>;
  announcements: Collection<AnnouncementDoc>;
  queryVersions: Collection<QueryVersionDoc>;
  queryRuns: Collection<QueryRunDoc>;
  signatures: Collection<SignatureDoc>;
  sourceChecks: Collection<SourceCheckDoc>;
  sourceLogins: Collection<SourceLoginDoc>;
  slotOwners: Collection<SlotOwnerDoc>;
  operations: Collection<OperationDoc>;
  audit: Collection<AuditDoc>;
  windows: Collection<WindowDoc>;
  /** Changes of one document, by its account and id. */
  oneByOne: OneByOne;
  settle: DocumentStore['settle'];
  health(): Promise<void>;
  shrink: DocumentStore['shrink'];
  backup: DocumentStore['backup'];
  close(): Promise<void>;
}

const specs: CollectionSpec[] = [
  { name: 'accounts', indexes: [], unique: ['name'] },
  { name: 'keys', indexes: ['namesQueries'], unique: ['hash'], outbox: true, urgentDeletes: true },
  {
    name: 'people',
    due: 'refreshAt',
    indexes: ['identity'],
    uniqueWithin: [{ field: 'identity' }],
    outbox: true,
    urgentDeletes: true,
  },
  {
    name: 'sessions',
    indexes: ['personId', 'providerSession'],
    unique: ['hash'],
    expires: 'expiresAt',
    outbox: true,
    urgentDeletes: true,
  },
  {
    name: 'grants',
    indexes: ['content'],
    uniqueWithin: [{ field: 'content' }],
    outbox: true,
    urgentDeletes: true,
  },
  {
    name: 'clients',
    indexes: ['dynamic'],
    unique: ['clientId'],
    expires: 'expiresAt',
    outbox: true,
    urgentDeletes: true,
  },
  {
    name: 'agents',
    indexes: ['keyId', 'personId', 'clientId'],
    unique: ['handle', 'accessHash'],
    expires: 'expiresAt',
    outbox: true,
    urgentDeletes: true,
  },
  {
    name: 'hubs',
    indexes: ['path', 'archived', 'deleting'],
    uniqueWithin: [{ field: 'path' }],
    outbox: true,
  },
  {
    name: 'folders',
    indexes: ['hubId', 'parentNodeId'],
    summary: { by: 'hubId', fields: ['parentNodeId', 'label', 'nodeSubType'] },
    outbox: true,
  },
  {
    name: 'sources',
    indexes: ['hubId', 'parentNodeId'],
    summary: { by: 'hubId', fields: ['parentNodeId', 'label'] },
    outbox: true,
  },
  {
    name: 'queries',
    // A search uses the index of the first field that it names.
    indexes: ['path', 'toolName', 'isTool', 'hubId', 'parentNodeId', 'sourceId'],
    uniqueWithin: [{ field: 'path', within: 'hubId' }, { field: 'toolName' }],
    summary: { by: 'hubId', fields: ['parentNodeId', 'label'] },
    outbox: true,
  },
  {
    name: 'boards',
    indexes: ['path', 'hubId'],
    uniqueWithin: [{ field: 'path', within: 'hubId' }],
    outbox: true,
  },
  {
    name: 'watches',
    indexes: ['path', 'hubId', 'queryId', 'keyId'],
    uniqueWithin: [{ field: 'path', within: 'hubId' }],
    outbox: true,
  },
  { name: 'watchStates', indexes: ['hubId'], due: 'dueAt', outbox: true },
  {
    name: 'watchRuns',
    // Of a watch there are few.
    ...{ indexes: ['watchId', 'hubId', 'outcome'], pairs: [['hubId', 'outcome']] },
    expires: 'endedAt',
  },
  { name: 'watchSnapshots', bytes: ['rows', 'ndjson'], summary: { fields: ['size'] } },
  {
    name: 'watchRunRows',
    ...{ bytes: ['ndjson'], expires: 'expiresAt', summary: { fields: ['size'] } },
  },
  { name: 'destinations', outbox: true },
  {
    name: 'deliveries',
    indexes: ['destinationId', 'state'],
    pairs: [['destinationId', 'state']],
    summary: { fields: ['size'] },
    due: 'dueAt',
    expires: 'expiresAt',
    outbox: true,
  },
  {
    name: 'events',
    ...{ indexes: ['hubId', 'type'], pairs: [['hubId', 'type']], expires: 'at' },
    summary: { fields: ['size'] },
  },
  { name: 'announcements', expires: 'expiresAt', outbox: true },
  { name: 'queryVersions', indexes: ['hubId'], summary: { fields: ['bytes'] } },
  { name: 'queryRuns', indexes: ['queryId', 'caller', 'failed'], expires: 'at' },
  { name: 'signatures', indexes: ['state', 'hubId'], outbox: true },
  { name: 'sourceChecks', indexes: ['hubId'], outbox: true },
  { name: 'sourceLogins', indexes: ['hubId'] },
  { name: 'slotOwners' },
  // By its age: how long it is kept may change.
  {
    name: 'audit',
    indexes: ['resourceId', 'keyId', 'action', 'personId'],
    // For the usage of a key.
    pairs: [['keyId', 'action']],
    ...{ expires: 'at', expiresBy: 'counted', due: 'joinsAt' },
    fresh: ['counted', 'joinsAt', 'personId'],
  },
  { name: 'windows', indexes: [], counters: ['taken'], expires: 'expiresAt' },
  {
    name: 'operations',
    indexes: [],
    bytes: ['answer'],
    summary: { fields: ['size'] },
    expires: 'expiresAt',
  },
];

export async function openCatalogStore(url: string): Promise<CatalogStore> {
  const store: DocumentStore = await openDocumentStore(url, specs);
  return {
    accounts: store.collection('accounts'),
    keys: store.collection('keys'),
    people: store.collection('people'),
    sessions: store.collection('sessions'),
    grants: store.collection('grants'),
    clients: store.collection('clients'),
    agents: store.collection('agents'),
    hubs: store.collection('hubs'),
    folders: store.collection('folders'),
    sources: store.collection('sources'),
    queries: store.collection('queries'),
    boards: store.collection('boards'),
    watches: store.collection('watches'),
    watchStates: store.collection('watchStates'),
    watchRuns: store.collection('watchRuns'),
    watchSnapshots: store.collection('watchSnapshots'),
    watchRunRows: store.collection('watchRunRows'),
    events: store.collection('events'),
    destinations: store.collection('destinations'),
    deliveries: store.collection('deliveries'),
    announcements: store.collection('announcements'),
    queryVersions: store.collection('queryVersions'),
    queryRuns: store.collection('queryRuns'),
    signatures: store.collection('signatures'),
    sourceChecks: store.collection('sourceChecks'),
    sourceLogins: store.collection('sourceLogins'),
    slotOwners: store.collection('slotOwners'),
    operations: store.collection('operations'),
    audit: store.collection('audit'),
    windows: store.collection('windows'),
    oneByOne: createOneByOne(),
    settle: () => store.settle(),
    health: () => store.health(),
    shrink: (pagesMax) => store.shrink(pagesMax),
    backup: store.backup,
    close: () => store.close(),
  };
}
