/** Writes a plan for people, for a comment on a pull request, and for programs. */

import { keyLimits } from '@datahub/contract/key-limits';
import { lossOfSession, type SessionSettings } from '@datahub/contract/session-settings';
import { type Colour, visible } from '../screen.ts';
import { isOfSignature, lossesOfQuery, writeCanonical } from './compare.ts';
import type { KeyModel } from './model.ts';
import type { Callers, ContractChange, Plan, QueryUpdate, Step } from './plan.ts';
import { type SettingChange, settingChanges } from './setting-changes.ts';
import { envName } from './yaml.ts';

const signs = { create: '+', update: '~', rename: '~', delete: '-' } as const;
const colours = { create: 'green', update: 'yellow', rename: 'yellow', delete: 'red' } as const;

/** The parts of a plan that are shown. */
type Reported = Pick<Plan, 'steps' | 'unmanaged' | 'unmanagedWatches' | 'unmanagedBoards' | 'unmanagedKeys'>;

export interface Line {
  text: string;
  colour?: Colour;
}

export function toLines({ steps, ...left }: Reported): Line[] {
  const changes = steps.flatMap((step): Line[] => [
    { text: `${signs[step.action]} ${titleOf(step)}`, colour: colours[step.action] },
    ...detailsOf(step).map((line) => ({ text: `    ${line}` })),
    ...diffOf(step).map(
      (line): Line => ({ text: `    ${line}`, colour: line.startsWith('+') ? 'green' : 'red' }),
    ),
  ]);
  return [...changes, ...[summaryOf(steps), ...notesOf(left)].map((text) => ({ text }))];
}

export function toMarkdown({ steps, ...left }: Reported): string {
  const rows = steps.flatMap((step) => {
    const details = detailsOf(step).map((line) => `  - ${escapeMarkdown(line)}\n`);
    const diff = diffOf(step);
    // A text can contain fences of its own.
    const fence = '`'.repeat(Math.max(3, ...diff.map((line) => longestRun(line) + 1)));
    const block =
      diff.length === 0
        ? []
        : [`\n  ${fence}diff\n${diff.map((line) => `  ${line}\n`).join('')}  ${fence}\n`];
    return [`- **${step.action}** ${escapeMarkdown(titleOf(step))}\n`, ...details, ...block];
  });
  return [
    `### Data Hub: ${summaryOf(steps)}\n\n`,
    ...rows,
    ...notesOf(left).map((line) => `\n${escapeMarkdown(line)}\n`),
  ].join('');
}

/** Without the contents of files and credentials. */
export function toJson({
  steps,
  unmanaged,
  unmanagedWatches,
  unmanagedBoards,
  unmanagedKeys,
}: Reported): object {
  return {
    changes: steps.map((step) => ({
      kind: step.kind,
      action: step.action,
      name: step.name,
      file: 'file' in step ? step.file.file : undefined,
      from: 'from' in step ? step.from : undefined,
      members: 'members' in step ? step.members : undefined,
      settings: 'members' in step ? settingsOf(step) : undefined,
      contract: 'contract' in step ? step.contract : undefined,
      losses: lossesOf(step),
      breaking: isBreaking(step),
      callers: 'callers' in step ? step.callers : undefined,
    })),
    unmanaged,
    unmanagedWatches,
    unmanagedBoards,
    unmanagedKeys,
  };
}

const longestRun = (text: string): number =>
  Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));

/**
 * Labels of people must not become links, images or mentions in a comment. GitHub finds addresses, mentions and numbers
 * of issues in the text that it shows, so an invisible space parts them.
 */
const escapeMarkdown = (text: string): string =>
  text
    .replaceAll(/[\\`*_{}[\]()#+!|<>@~&-]/g, '\\$&')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/\\[@#]|:(?=\/\/)|www(?=\.)/gi, '$&&#8203;');

const titleOf = (step: Step): string =>
  visible(`${step.kind} ${step.name}${step.action === 'rename' ? ` (was ${step.from})` : ''}`);

/** Undefined if nobody calls it, or if it is not known. */
export function isBreaking(step: Step): boolean | undefined {
  const losses = lossesOf(step);
  if (losses === undefined || losses.length > 0) return losses && true;
  return 'members' in step && step.kind === 'query' ? step.contract?.some(({ breaking }) => breaking) : false;
}

/**
 * Why callers can fail after a step, apart from the columns and variables of queries. Undefined for what is new, and for
 * what nobody calls.
 */
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

function detailsOf(step: Step): string[] {
  const members = 'members' in step ? [`changes ${step.members.join(', ')}`] : [];
  const settings = 'members' in step ? settingsOf(step).map(describeSetting) : [];
  const losses = (lossesOf(step) ?? []).map((loss) => `BREAKING: ${loss}`);
  const contract = 'members' in step && step.kind === 'query' ? contractOf(step) : [];
  const callers = 'callers' in step && step.callers !== undefined ? [describeCallers(step.callers)] : [];
  return [...members, ...settings, ...losses, ...contract, ...callers].map(visible);
}

function settingsOf(step: Extract<Step, { members: string[] }>): SettingChange[] {
  if (step.kind === 'source') return step.settings;
  const [before, after] = [step.remote, step.file].map(
    ({ model }): Record<string, unknown> => ({ ...model }),
  );
  const changes = step.members
    .filter((name) => name !== 'text' && name !== 'path')
    .flatMap((name) => settingChanges(before?.[name], after?.[name], name));
  // What the file keeps in the environment is without its values.
  const pins = step.kind === 'key' ? Object.entries(step.file.model.limits.context ?? {}) : [];
  const hidden = new Set(
    pins.flatMap(([name, value]) => (envName(value) === undefined ? [] : [`limits.context.${name}`])),
  );
  return changes.map((one) => (hidden.has(one.name) ? { name: one.name } : one));
}

const describeSetting = ({ name, from, to }: SettingChange): string =>
  `${name}: ${from === undefined && to === undefined ? 'changed' : `${from ?? 'none'} → ${to ?? 'none'}`}`;

function contractOf({ contract, members }: QueryUpdate): string[] {
  if (contract !== undefined) return contract.map(describeChange);
  return members.some(isOfSignature) ? ['its columns and variables could not be compared'] : [];
}

const describeChange = ({ kind, name, change, breaking, member, from, to }: ContractChange): string =>
  `${breaking ? 'BREAKING: ' : ''}${kind} ${name} ${change}${member === undefined ? '' : `: ${member} ${from ?? ''} → ${to ?? ''}`}`;

/** The most callers that a report names. */
const callersMax = 10;

function describeCallers({ calls, keys, names }: Callers): string {
  if (calls === 0) return 'nobody ran it in 30 days';
  const shown = names.slice(0, callersMax).map((one) => `${one.name} (${one.calls})`);
  const more = keys > shown.length ? [`${keys - shown.length} more`] : [];
  const named = shown.length === 0 ? '' : `: ${[...shown, ...more].join(', ')}`;
  return `${calls} calls by ${keys} ${keys === 1 ? 'key' : 'keys'} in 30 days${named}`;
}

/** The lines between those that both texts begin and end with. */
function diffOf(step: Step): string[] {
  if (step.kind !== 'query' || step.action !== 'update' || !step.members.includes('text')) return [];
  const [before, after] = [step.remote.model.text, step.file.model.text].map((text) => text.split('\n'));
  if (before === undefined || after === undefined) return [];
  const most = Math.min(before.length, after.length);
  let head = 0;
  while (head < most && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < most - head && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  const middle = (lines: string[]) => lines.slice(head, lines.length - tail);
  return [
    ...middle(before).map((line) => visible(`- ${line}`)),
    ...middle(after).map((line) => visible(`+ ${line}`)),
  ];
}

function summaryOf(steps: readonly Step[]): string {
  if (steps.length === 0) return 'No changes.';
  const count = (actions: string[]) => steps.filter(({ action }) => actions.includes(action)).length;
  return `${count(['create'])} to create, ${count(['update', 'rename'])} to change, ${count(['delete'])} to delete.`;
}

const notesOf = (left: Omit<Reported, 'steps'>): string[] => [
  ...noteOf('queries', left.unmanaged),
  ...noteOf('watches', left.unmanagedWatches),
  ...noteOf('boards', left.unmanagedBoards),
  ...noteOf('keys', left.unmanagedKeys),
];

function noteOf(kind: string, unmanaged: readonly string[]): string[] {
  if (unmanaged.length === 0) return [];
  const shown = unmanaged.slice(0, 10).join(', ');
  const more = unmanaged.length > 10 ? ` and ${unmanaged.length - 10} more` : '';
  return [
    `The files do not have these ${kind} of the hub, which stay (--prune deletes them): ${visible(shown)}${more}`,
  ];
}
