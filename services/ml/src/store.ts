/** The collections of the ml service in a document store. */

import {
  type Blobs,
  blobCollections,
  type Collection,
  createBlobs,
  type DocumentStore,
  openDocumentStore,
} from '@datahub/document-store';
import type { ClassifierDoc, EndedJobDoc, EventDoc, JobDoc, OpenJobDoc } from './documents.ts';
import { createFairPlaces, type FairPlaces } from './scheduling/fair-lock.ts';

export interface MlStore {
  classifiers: Collection<ClassifierDoc>;
  events: Collection<EventDoc>;
  /** A place for each event of megabytes that is read and used: many at once would fill the memory. */
  largeEvents: FairPlaces;
  /** The state of each classifier after one of its events, by classifier id. */
  snapshots: Blobs;
  jobs: Collection<JobDoc>;
  openJobs: Collection<OpenJobDoc>;
  /** Jobs whose end is not yet an event of the hub. */
  endedJobs: Collection<EndedJobDoc>;
  health(): Promise<void>;
  shrink: DocumentStore['shrink'];
  backup: DocumentStore['backup'];
  close(): Promise<void>;
}

export async function openMlStore(url: string, createToken: () => string): Promise<MlStore> {
  const store: DocumentStore = await openDocumentStore(url, [
    { name: 'classifiers', indexes: ['name'] },
    // The summary makes the time and the size readable without the texts.
    { name: 'classifierEvents', summary: { fields: ['at', 'characters'] } },
    ...blobCollections('classifierSnapshots'),
    { name: 'jobs', indexes: ['keyId'], expires: 'expiresAt', outbox: true },
    { name: 'endedJobs' },
    { name: 'openJobs' },
  ]);
  return {
    classifiers: store.collection('classifiers'),
    events: store.collection('classifierEvents'),
    largeEvents: createFairPlaces({ allMax: 3, accountMax: 1 }),
    snapshots: createBlobs(store, 'classifierSnapshots', createToken),
    jobs: store.collection('jobs'),
    openJobs: store.collection('openJobs'),
    endedJobs: store.collection('endedJobs'),
    health: () => store.health(),
    shrink: (pagesMax) => store.shrink(pagesMax),
    backup: store.backup,
    close: () => store.close(),
  };
}
