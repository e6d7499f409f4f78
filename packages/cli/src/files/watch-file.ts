/** The file of a watch: its settings in YAML, with the path of its query and the labels of its destinations. */

import { comparisons, missedModes } from '@datahub/contract/watches';
import { writeCanonical } from './compare.ts';
import type { Fault } from './fault.ts';
import type { WatchModel } from './model.ts';
import { type Located, readYaml, type Shape, writeYaml } from './yaml.ts';

const members = {
  label: 'text',
  query: 'text',
  context: 'object',
  schedule: {
    members: {
      everyS: 'whole number',
      cron: 'text',
      timeZone: 'text',
      spreadS: 'whole number',
      missed: { oneOf: missedModes },
    } satisfies Record<keyof WatchModel['schedule'], Shape>,
  },
  when: 'any',
  by: { list: 'text' },
  include: { list: 'text' },
  to: { list: 'text' },
  paused: 'boolean',
} as const satisfies Record<Exclude<keyof WatchModel, 'path'>, Shape>;
const shape: Shape = { members, required: ['label', 'query', 'schedule', 'when'] };

const condition: Shape = {
  members: { column: 'text', is: { oneOf: comparisons }, value: 'any', forRuns: 'whole number' },
  required: ['column', 'is', 'value'],
};

export interface WatchFile {
  file: string;
  model: WatchModel;
  place: Located<unknown>['place'];
}

type Front = Pick<WatchModel, 'label' | 'query' | 'schedule' | 'when'> & Partial<WatchModel>;

export function readWatchFile(
  text: string,
  { file, path, faults }: { file: string; path: string; faults: Fault[] },
): WatchFile | undefined {
  const origin = { file, line: 1, column: 1 };
  const located = readYaml<Front>(text, { origin, shape, faults });
  if (located === undefined) return undefined;
  const { value, place } = located;
  if (typeof value.when !== 'string') {
    const whole: Shape = { members: { ...members, when: condition } };
    if (readYaml(text, { origin, shape: whole, faults }) === undefined) return undefined;
  }
  const model = { context: {}, by: [], include: [], to: [], paused: false, ...value, path };
  return { file, model, place };
}

export function writeWatchFile({ path: _, ...watch }: WatchModel): string {
  const { context, schedule, by, include, to, paused, ...rest } = watch;
  const known = {
    ...rest,
    schedule: withoutDefault(schedule),
    ...(Object.keys(context).length === 0 ? {} : { context }),
    ...Object.fromEntries(Object.entries({ by, include, to }).filter(([, names]) => names.length > 0)),
    ...(paused ? { paused } : {}),
  };
  const order = Object.keys(members).filter((name) => name in known);
  return writeYaml(Object.fromEntries(order.map((name) => [name, known[name as keyof typeof known]])));
}

const withoutDefault = ({ missed, ...schedule }: WatchModel['schedule']): WatchModel['schedule'] =>
  missed === undefined || missed === 'skip' ? schedule : { ...schedule, missed };

const toComparable = ({ path: _, schedule, when, ...rest }: WatchModel): Record<string, unknown> => ({
  ...rest,
  schedule: withoutDefault(schedule),
  when: typeof when === 'string' ? when : { forRuns: 1, ...when },
});

export function changedWatchMembers(mine: WatchModel, theirs: WatchModel): string[] {
  const [one, other] = [toComparable(mine), toComparable(theirs)];
  return Object.keys(members).filter((name) => writeCanonical(one[name]) !== writeCanonical(other[name]));
}
