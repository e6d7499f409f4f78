/** The fields of a watch as a person types them. */

import { isJson, parseExact } from '../../api/exact.ts';
import { conditionOf, ownZone, type Rule, type Watch } from './words.ts';

export interface WatchFields {
  label: string;
  queryId: string;
  /** A JSON object; empty for none. */
  context: string;
  when: Rule;
  column: string;
  is: string;
  value: string;
  forRuns: string;
  timing: 'every' | 'cron';
  minutes: string;
  cron: string;
  timeZone: string;
  spreadS: string;
  makesUp: boolean;
  by: string[];
  include: string[];
  to: string[];
}

/** What the form calls them. */
export const fieldNames: Readonly<Record<keyof WatchFields, string>> = {
  label: 'Name',
  queryId: 'Query',
  context: 'Values of the variables',
  when: 'What it tells',
  column: 'Column',
  is: 'Is',
  value: 'Value',
  forRuns: 'In so many runs in a row',
  timing: 'Runs',
  minutes: 'Minutes between runs',
  cron: 'Cron pattern',
  timeZone: 'Time zone',
  spreadS: 'Spread over seconds',
  makesUp: 'If runs were missed, make up for them with one',
  by: 'Columns that tell rows apart',
  include: 'Columns whose values are told',
  to: 'Who is told',
};

export const isComparing = (when: Rule): boolean => ['new', 'changed', 'gone'].includes(when);

export const newForm = (queryId: string): WatchFields => ({
  label: '',
  queryId,
  context: '',
  when: 'new',
  ...{ column: '', is: '>', value: '', forRuns: '1' },
  timing: 'every',
  minutes: '5',
  ...{ cron: '0 6 * * *', timeZone: ownZone(), spreadS: '', makesUp: false },
  ...{ by: [], include: [], to: [] },
});

export function formOf(watch: Watch): WatchFields {
  const { label, queryId, context, schedule, when, by, include, to } = watch;
  const { everyS, cron, timeZone, spreadS, missed } = schedule;
  const first = newForm(queryId);
  const condition = conditionOf(watch);
  const hasValues = Object.keys(context).length > 0;
  return {
    ...first,
    ...{ label, by, include, to },
    context: hasValues ? JSON.stringify(context) : '',
    when: condition === undefined ? (when as Rule) : 'condition',
    ...(condition === undefined
      ? {}
      : {
          column: condition.column,
          is: condition.is,
          value: valueText(condition.value),
          forRuns: String(condition.forRuns ?? 1),
        }),
    ...(everyS === undefined ? {} : { minutes: String(everyS / 60) }),
    ...(cron === undefined ? {} : { timing: 'cron' as const, cron, timeZone: timeZone ?? first.timeZone }),
    spreadS: spreadS === undefined ? '' : String(spreadS),
    makesUp: missed === 'once',
  };
}

/** A text that reads as a number keeps its quotes, so that it stays a text. */
const valueText = (value: unknown): string =>
  typeof value === 'string' && !isNumber(value) ? value : JSON.stringify(value);

const isNumber = (text: string): boolean => isJson(text) && typeof JSON.parse(text) === 'number';
const isQuoted = (text: string): boolean => isJson(text) && typeof JSON.parse(text) === 'string';
const isObject = (text: string): boolean => /^\s*\{/.test(text) && isJson(text);
const isCount = (text: string): boolean => /^[1-9]\d*$/.test(text);

const everyS = ({ minutes }: WatchFields): number => Math.round(Number(minutes) * 60);

type Faults = Partial<Record<keyof WatchFields, string>>;

/** What the hub would refuse, as far as the form can know. */
export function faultsOf(form: WatchFields): Faults {
  const { when, timing, spreadS, context } = form;
  const faults: Faults = {};
  const need = (name: keyof Faults, isRight: boolean, fault: string) => {
    if (!isRight) faults[name] = fault;
  };
  need('context', context === '' || isObject(context), 'Write a JSON object, such as {"region": "south"}.');
  if (when === 'condition') {
    need('column', form.column !== '', 'Name a column of the query.');
    need('value', form.value !== '', 'Write a number or a text.');
    need('forRuns', isCount(form.forRuns), 'Write a whole number.');
  }
  if (timing === 'every')
    need('minutes', everyS(form) >= 10, 'Write a number of minutes, at least 0.17 (10 seconds).');
  else {
    need('cron', form.cron.trim().split(/\s+/).length === 5, 'Write five fields, such as 30 6 * * 1-5.');
    need('timeZone', form.timeZone !== '', 'Name a zone, such as Europe/Berlin.');
  }
  need('spreadS', spreadS === '' || /^\d+$/.test(spreadS), 'Write a whole number of seconds.');
  return faults;
}

/** The body of a request. What the form does not show stays as it is. */
export function bodyOf(form: WatchFields, watch: Watch | undefined): object {
  const { label, queryId, context, when, by, include, to, timing, spreadS } = form;
  const timed =
    timing === 'every' ? { everyS: everyS(form) } : { cron: form.cron.trim(), timeZone: form.timeZone };
  const { column, is, value } = form;
  const condition = {
    ...{ column, is, forRuns: Number(form.forRuns) },
    value: isNumber(value) || isQuoted(value) ? parseExact(value) : value,
  };
  return {
    ...(watch === undefined ? {} : { path: watch.path, paused: watch.paused }),
    ...{ label, queryId, include, to },
    context: context === '' ? {} : parseExact(context),
    schedule: {
      ...timed,
      ...(spreadS === '' ? {} : { spreadS: Number(spreadS) }),
      missed: form.makesUp ? 'once' : 'skip',
    },
    when: when === 'condition' ? condition : when,
    by: isComparing(when) ? by : (watch?.by ?? []),
  };
}
