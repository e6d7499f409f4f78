/** What a run that has ended makes of the state of its watch, and whether that is an event. Pure. */

import { type EventType, isComparing } from '@datahub/contract/watches';
import type { EndTickRequest } from '@datahub/proto/catalog/v1/watches';
import type { WatchDoc, WatchStateDoc } from './documents.ts';
import { basisOf, isAbout } from './watch.ts';

export type Found = Pick<EndTickRequest, 'outcome' | 'changes' | 'isMet'>;

export interface Conclusion {
  state: Pick<WatchStateDoc, 'basis' | 'level' | 'metRuns' | 'isFailing'>;
  type: EventType | undefined;
}

export function conclude(watch: WatchDoc, before: WatchStateDoc, found: Found): Conclusion {
  const basis = basisOf(watch);
  const isSame = isAbout(before.basis, watch);
  const level = isSame ? before.level : undefined;
  const metRuns = isSame ? before.metRuns : 0;
  // The level stays what was seen last. A run without rows neither meets the condition nor fails to.
  const kept = { ...(isSame ? { basis } : {}), ...(level === undefined ? {} : { level }), metRuns };
  if (found.outcome === 'skipped')
    return { state: { ...kept, isFailing: before.isFailing }, type: undefined };
  if (found.outcome !== 'ok') {
    const type = before.isFailing ? undefined : 'watch.failed';
    return { state: { ...kept, isFailing: 1 }, type };
  }
  if (watch.when === 'condition') return concludeCondition(watch, { basis, level, metRuns }, found);
  return { state: { basis, metRuns: 0, isFailing: 0 }, type: typeOf(watch, before, found) };
}

function typeOf(watch: WatchDoc, before: WatchStateDoc, { changes }: Found): EventType | undefined {
  if (watch.when === 'failed') return before.isFailing ? 'watch.resolved' : undefined;
  if (watch.when === 'always') return watch.to.length > 0 ? 'watch.ran' : undefined;
  return isComparing(watch.when) && (changes?.[watch.when] ?? 0) > 0 ? 'watch.rows' : undefined;
}

function concludeCondition(
  { condition }: WatchDoc,
  { basis, level, metRuns }: { basis: string; level: WatchStateDoc['level']; metRuns: number },
  { isMet = false }: Found,
): Conclusion {
  const runs = isMet ? metRuns + 1 : 0;
  const fires = runs >= (condition?.forRuns ?? 1);
  const next = isMet ? (fires ? 'firing' : (level ?? 'ok')) : 'ok';
  const type = next === (level ?? 'ok') ? undefined : next === 'firing' ? 'watch.firing' : 'watch.resolved';
  return { state: { basis, level: next, metRuns: runs, isFailing: 0 }, type };
}
