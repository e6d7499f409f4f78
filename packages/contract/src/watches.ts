/** The words of watches, their runs and events. */

/** When a watch tells something; `condition` is written as an object. */
export const watchKinds = ['always', 'new', 'changed', 'gone', 'condition', 'failed'] as const;
export type WatchKind = (typeof watchKinds)[number];

/** The kinds that compare the rows of a run with those of the run before. */
export const comparingKinds = ['new', 'changed', 'gone'] as const satisfies WatchKind[];
export type ComparingKind = (typeof comparingKinds)[number];
export const isComparing = (kind: string): kind is ComparingKind =>
  (comparingKinds as readonly string[]).includes(kind);

export const comparisons = ['>', '>=', '<', '<=', '=', '!='] as const;
export type Comparison = (typeof comparisons)[number];

/** A number as JSON writes it, with an exponent of at most three digits. */
export const decimalPattern =
  /^(?<sign>-?)(?<whole>0|[1-9]\d*)(?:\.(?<fraction>\d+))?(?:[eE](?<exponent>[+-]?\d{1,3}))?$/;

export const missedModes = ['skip', 'once'] as const;

/**
 * How a run ended: `skipped` if the run before had not ended, or the watch was not allowed to run; `missed` if no gateway
 * ran it in time; `unknown` if it may have written.
 */
export const runOutcomes = ['ok', 'failed', 'skipped', 'missed', 'unknown'] as const;
export type RunOutcome = (typeof runOutcomes)[number];

export const watchStates = ['ok', 'firing', 'failing', 'unknown'] as const;
export type WatchState = (typeof watchStates)[number];

export const eventTypes = [
  'watch.ran',
  'watch.rows',
  'watch.firing',
  'watch.resolved',
  'watch.failed',
  'watch.paused',
  'destination.disabled',
  'query.broken',
  'query.mended',
  'query.drifted',
  'query.published',
  'source.unreachable',
  'source.reachable',
  'key.expiring',
  'job.ended',
] as const;
export type EventType = (typeof eventTypes)[number];
export const isEventType = (type: string): type is EventType =>
  (eventTypes as readonly string[]).includes(type);

export const deliveryStates = ['pending', 'delivered', 'failed'] as const;

/** Rows that a run compares. */
export const comparedRowsMax = 100_000;
/** Bytes of the rows that a run tells. */
export const toldBytesMax = 8 * 1_048_576;
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

const eventWords: Record<string, string> = {
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
  const subject = type === 'job.ended' ? 'A training ended' : label && `${label} ${eventWords[type] ?? type}`;
  const parts = [subject ?? type];
  if (changes.length > 0) parts.push(changes.join(', '));
  if (state !== undefined) parts.push(state);
  if (why !== undefined) parts.push(why);
  return parts;
}
