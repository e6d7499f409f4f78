/** A watch: pure rules. */

import { hash } from 'node:crypto';
import { isReadingCommand } from '@datahub/contract/commands';
import { type Complete, withoutUndefined } from '@datahub/contract/complete';
import { queryLimits, queryPathPattern, watchLimits } from '@datahub/contract/limits';
import type { FieldPath } from '@datahub/contract/validation-error';
import { comparisons, decimalPattern, isComparing, missedModes, watchKinds } from '@datahub/contract/watches';
import type {
  Schedule as ScheduleMessage,
  WatchCondition,
  WatchSettings,
} from '@datahub/proto/catalog/v1/watches';
import { type Checker, createChecker, parseJson, parseObject } from '../check.ts';
import type { QueryDoc } from '../documents.ts';
import { secretsOf } from '../secret-variables/kept-secrets.ts';
import type { WatchDoc } from './documents.ts';
import { faultOfCron, isTimeZone, type Schedule } from './schedule.ts';

/** What a caller sets, checked. */
export type CheckedSettings = Pick<
  WatchDoc,
  | 'label'
  | 'path'
  | 'queryId'
  | 'contextJson'
  | 'schedule'
  | 'when'
  | 'condition'
  | 'by'
  | 'include'
  | 'to'
  | 'paused'
>;

export const writes = ({ command }: Pick<QueryDoc, 'command'>): boolean => !isReadingCommand(command);

const isPath = new RegExp(queryPathPattern);

/** Throws VALIDATION with all faults. The query is the one that the settings name. */
export function checkSettings(settings: WatchSettings, query: QueryDoc): CheckedSettings {
  const check = createChecker();
  const when = check.oneOf(['when'], settings.when, watchKinds);
  const checked: Complete<CheckedSettings> = {
    label: check.label(['label'], settings.label),
    path: check.path(['path'], settings.path ?? '', isPath),
    queryId: query.id,
    contextJson: checkContext(check, settings.contextJson, query),
    schedule: checkSchedule(check, settings.schedule),
    when,
    condition: when === 'condition' ? checkCondition(check, settings.condition) : undefined,
    by: checkNames(check, 'by', settings.by),
    include: checkNames(check, 'include', settings.include),
    to: checkNames(check, 'to', settings.to),
    paused: Number(settings.paused),
  };
  if (when === 'changed' && settings.by.length === 0)
    check.fault(
      ['by'],
      'must name the columns that tell rows apart, because a row that changes is known by them',
    );
  if (writes(query) && (isComparing(when) || when === 'condition'))
    check.fault(['when'], 'must be always or failed, because the query writes');
  check.done();
  return withoutUndefined<CheckedSettings>(checked);
}

function checkContext(check: Checker, contextJson: string, query: QueryDoc): string {
  check.text(['context'], contextJson, watchLimits.contextCharacters);
  // Only what is short enough is parsed.
  if (contextJson.length > watchLimits.contextCharacters.max) return contextJson;
  const secret = secretsOf(query.context);
  for (const name of Object.keys(parseObject(check, ['context'], contextJson)))
    if (secret.has(name))
      check.fault(['context', name], 'is a secret variable, whose value a watch cannot keep');
  return contextJson;
}

function checkSchedule(check: Checker, given: ScheduleMessage | undefined): Schedule {
  const { everyS, cron, timeZone, spreadS, missed = 'skip' } = given ?? {};
  const place = (name: string): FieldPath => ['schedule', name];
  const common = {
    ...(spreadS === undefined
      ? {}
      : { spreadS: check.integer(place('spreadS'), spreadS, watchLimits.spreadSeconds) }),
    missed: check.oneOf(place('missed'), missed, missedModes),
  };
  if ((everyS === undefined) === (cron === undefined))
    check.fault(['schedule'], 'must have either everyS, or cron and timeZone');
  if (everyS !== undefined)
    return { everyS: check.integer(place('everyS'), everyS, watchLimits.everySeconds), ...common };
  const pattern = cron ?? '';
  const fault = cron === undefined ? undefined : faultOfCron(pattern);
  if (fault !== undefined) check.fault(place('cron'), fault);
  if (cron !== undefined && timeZone === undefined) check.fault(place('timeZone'), 'is missing');
  if (timeZone !== undefined && !isTimeZone(timeZone))
    check.fault(place('timeZone'), 'is no time zone; write it as in Europe/Berlin');
  return { cron: pattern, timeZone: timeZone ?? 'UTC', ...common };
}

function checkCondition(check: Checker, given: WatchCondition | undefined): WatchDoc['condition'] {
  const { column = '', is = '', valueJson = 'null', forRuns = 1 } = given ?? {};
  const place = (name: string): FieldPath => ['condition', name];
  const { max } = watchLimits.valueLength;
  const text = valueJson.startsWith('"') ? parseJson(valueJson) : undefined;
  if (typeof text === 'string') check.text(place('value'), text, watchLimits.valueLength);
  else if (valueJson.length > max || !decimalPattern.test(valueJson))
    check.fault(
      place('value'),
      `must be a string, or a number of at most ${max} digits and an exponent of three`,
    );
  return {
    column: check.text(place('column'), column, queryLimits.columnNameLength),
    is: check.oneOf(place('is'), is, comparisons),
    valueJson,
    forRuns: check.integer(place('forRuns'), forRuns, watchLimits.forRuns),
  };
}

function checkNames(check: Checker, member: 'by' | 'include' | 'to', names: string[]): string[] {
  const { max } = member === 'to' ? watchLimits.destinations : watchLimits.columns;
  if (names.length > max) check.fault([member], `must have at most ${max} entries`);
  for (const [i, name] of names.entries()) {
    check.text([member, i], name, queryLimits.columnNameLength);
    if (names.indexOf(name) < i) check.fault([member, i], 'is named a second time');
  }
  return names;
}

/** A longer basis is kept as a digest: many states are read at a time. Older releases kept all of it. */
const basisMax = 1_000;
const shortened = (basis: string): string =>
  basis.length > basisMax ? hash('sha256', basis, 'base64url') : basis;

/** What the state of a watch is about: if it changes, the state starts anew. */
export function basisOf({ queryId, contextJson, when, condition, by, include }: WatchDoc): string {
  // Rows that are gone are told from what the run before kept of them.
  const kept = when === 'gone' ? include : [];
  return shortened(JSON.stringify([queryId, contextJson, when, condition ?? null, by, kept]));
}

export const isAbout = (basis: string | undefined, watch: WatchDoc): boolean =>
  basis !== undefined && shortened(basis) === basisOf(watch);
