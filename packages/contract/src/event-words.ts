/** What an event says, in a few words. */

/** The members of an event's data that the words are made of. */
export interface EventFacts {
  label?: string;
  /** Of a key. */
  name?: string;
  /** Of a job. */
  state?: string;
  code?: string;
  detail?: string;
  new?: number;
  changed?: number;
  gone?: number;
}

const words: Record<string, string> = {
  'watch.ran': 'has run',
  'watch.rows': 'found rows',
  'watch.firing': 'is firing',
  'watch.resolved': 'is resolved',
  'watch.failed': 'failed',
  'watch.paused': 'was paused',
  'destination.disabled': 'was disabled',
  'query.broken': 'is broken',
  'query.mended': 'works again',
  'query.drifted': 'returns other columns',
  'query.published': 'was published',
  'source.unreachable': 'cannot be reached',
  'source.reachable': 'can be reached again',
  'key.expiring': 'expires soon',
};

/** The first part says what happened to what; the others say more. */
export function eventParts(
  type: string,
  { name, label = name, state, code, detail, ...counts }: EventFacts,
): string[] {
  const changes = (['new', 'changed', 'gone'] as const).flatMap((change) =>
    counts[change] ? [`${counts[change]} ${change}`] : [],
  );
  const why = detail ?? code;
  // A job has no name.
  const subject = type === 'job.ended' ? 'A training ended' : label && `${label} ${words[type] ?? type}`;
  const parts = [subject ?? type];
  if (changes.length > 0) parts.push(changes.join(', '));
  if (state !== undefined) parts.push(state);
  if (why !== undefined) parts.push(why);
  return parts;
}
