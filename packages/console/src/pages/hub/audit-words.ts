/** What the actions of the audit log mean. */

const words: Record<string, string> = {
  'query.execute': 'Executed a query',
  'query.try': 'Tried drafts at a source',
  'query.create': 'Created a query',
  'query.update': 'Changed a query',
  'query.delete': 'Deleted a query',
  'query.restore': 'Restored a version of a query',
  'query.break': 'A query broke: its database rejects it',
  'query.mend': 'A broken query works again',
  'source.create': 'Created a source',
  'source.update': 'Changed a source',
  'source.delete': 'Deleted a source',
  'source.refuse': 'A database refused the log-in of a source',
  'folder.create': 'Created a folder',
  'folder.update': 'Changed a folder',
  'folder.delete': 'Deleted a folder',
  'hub.create': 'Created a hub',
  'hub.update': 'Changed a hub',
  'hub.delete': 'Deleted a hub',
  'key.create': 'Created a key',
  'key.update': 'Changed a key',
  'key.rotate': 'Rotated a key',
  'key.revoke': 'Revoked a key',
  'classifier.create': 'Created a classifier',
  'classifier.update': 'Changed a classifier',
  'classifier.delete': 'Deleted a classifier',
  'classifier.train': 'Trained a classifier',
  'classifier.predict': 'Classified texts',
  'text.summarize': 'Summarized texts',
  'job.delete': 'Stopped a training',
};

export const auditWords = (action: string): string => words[action] ?? action;
export const auditActions: readonly (readonly [string, string])[] = Object.entries(words);
