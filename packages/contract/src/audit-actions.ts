/** What the audit calls the things that keys do. */
export const auditActions = [
  'hub.create',
  'hub.update',
  'hub.delete',
  'folder.create',
  'folder.update',
  'folder.delete',
  'source.create',
  'source.update',
  'source.delete',
  'query.create',
  'query.update',
  'query.delete',
  'query.execute',
  'key.create',
  'key.rotate',
  'key.revoke',
  'classifier.create',
  'classifier.delete',
  'classifier.train',
  'classifier.predict',
  'class.delete',
  'text.summarize',
  'job.delete',
] as const;

export type AuditAction = (typeof auditActions)[number];
