/** Why callers can fail after a step of a plan, apart from the columns and variables of queries. */

import { keyLimits } from '@datahub/contract/key-limits';
import { lossOfSession } from '@datahub/contract/lost-calls';
import type { SessionSettings } from '@datahub/contract/session-settings';
import { lossesOfQuery, writeCanonical } from './compare.ts';
import type { KeyModel } from './model.ts';
import type { Step } from './plan.ts';

/** Undefined for what is new, and for what nobody calls. */
export function lossesOf(step: Step): string[] | undefined {
  if (step.action === 'create') return undefined;
  switch (step.kind) {
    case 'hub':
      return step.from === undefined ? [] : [`path: calls by the path ${step.from} fail`];
    case 'source':
      return lossOf('session', lossOfSession(...sessionsOf(step)));
    case 'query':
      return step.action === 'delete'
        ? ['its calls fail']
        : lossesOfQuery(step.members, step.remote.model, step.file.model);
    case 'key':
      return step.action === 'delete'
        ? ['calls with the key fail']
        : lossesOfKey(step.remote.model, step.file.model);
    default:
      return undefined;
  }
}

const lossOf = (name: string, reason: string | undefined): string[] =>
  reason === undefined ? [] : [`${name}: ${reason}`];

const sessionsOf = (step: Extract<Step, { kind: 'source'; action: 'update' }>) =>
  [step.before, step.source].map(
    ({ connectionSettings }) => (connectionSettings.session ?? {}) as SessionSettings,
  ) as [SessionSettings, SessionSettings];

function lossesOfKey(before: KeyModel, after: KeyModel): string[] {
  const narrower = Object.entries(after.limits).filter(([name, next]) =>
    isNarrower(name, (before.limits as Record<string, unknown>)[name], next),
  );
  const endsEarlier =
    after.expiresAt !== undefined &&
    (before.expiresAt === undefined || Date.parse(after.expiresAt) < Date.parse(before.expiresAt));
  return [
    ...narrower.flatMap(([name]) => lossOf(`limits.${name}`, 'calls that were allowed can fail')),
    ...(endsEarlier ? lossOf('expiresAt', 'the key ends earlier') : []),
  ];
}

/** Files have another name for the classifiers. */
const kindOf = (name: string) =>
  keyLimits[(name === 'classifiers' ? 'classifierIds' : name) as keyof typeof keyLimits]?.kind;

/** Pinned values replace those of the caller, and refuse no call. */
function isNarrower(name: string, before: unknown, after: unknown): boolean {
  switch (kindOf(name)) {
    case 'list':
      return Array.isArray(after) && !(before as unknown[] | undefined)?.every((one) => after.includes(one));
    case 'upperBound':
      return Number(after) < Number(before ?? Number.POSITIVE_INFINITY);
    case 'pinned':
      return false;
    default:
      return after !== false && after !== undefined && writeCanonical(after) !== writeCanonical(before);
  }
}
