/** hub.yaml: the label of a hub, its sources, folders and classifiers. It contains no secret. */

import { engines } from '@datahub/contract/engines';
import { passwordProviders } from '@datahub/contract/password-from';
import { serverSettingNames, serverSettings, tlsModes } from '@datahub/contract/source-settings';
import type { Fault } from './fault.ts';
import { folderKey, type HubModel, type SourceModel, toPath } from './model.ts';
import { envName, type Located, readYaml, type Shape, writeYaml } from './yaml.ts';

export const hubFileName = 'hub.yaml';

const setting = (shape: Shape): Shape => ({ setting: shape });

const hosts: Shape = {
  list: { members: { host: 'text', port: 'whole number' }, required: ['host', 'port'] },
};
const serverShapes = { text: 'text', flag: 'boolean', hosts } as const satisfies Record<string, Shape>;
const settingShapes: Record<string, Shape> = {
  host: 'text',
  port: 'whole number',
  database: 'text',
  user: 'text',
  // `readHubFile` says that secrets must be expressions.
  password: 'any',
  tls: {
    members: { mode: setting({ oneOf: tlsModes }), ca: setting('text'), cert: setting('text'), key: 'any' },
  },
  pool: { members: { max: setting('whole number'), idleTimeoutMs: setting('whole number') } },
  statementTimeoutMs: 'whole number',
  session: 'object',
  passwordFrom: {
    members: { kind: setting({ oneOf: passwordProviders }), region: setting('text') },
    required: ['kind', 'region'],
  },
  ssh: {
    members: {
      ...{ host: 'text', port: setting('whole number'), user: 'text', hostKey: 'text' },
      ...{ privateKey: 'any', password: 'any' },
    },
    required: ['host', 'user', 'hostKey'],
  },
  ...Object.fromEntries(serverSettingNames.map((name) => [name, serverShapes[serverSettings[name].kind]])),
};

const shape: Shape = {
  members: {
    hub: 'text',
    label: 'text',
    sources: {
      list: {
        members: {
          label: 'text',
          engine: { oneOf: engines },
          connectionSettings: {
            members: Object.fromEntries(
              Object.entries(settingShapes).map(([name, one]) => [name, setting(one)]),
            ),
            required: ['host', 'port', 'database', 'user'],
          },
        },
        required: ['label', 'engine', 'connectionSettings'],
      },
    },
    folders: { list: 'any' },
    classifiers: { list: { members: { name: 'text', formerly: 'text' }, required: ['name'] } },
  },
  required: ['hub', 'label'],
};

type Content = Omit<HubModel, 'path' | 'queries' | 'folders'> & {
  hub: string;
  folders: (string | string[])[];
};

export interface HubFile {
  model: Omit<HubModel, 'queries'>;
  place: Located<unknown>['place'];
}

/** The settings that the hub never shows. */
export const secretPaths = [
  ['password'],
  ['tls', 'key'],
  ['ssh', 'privateKey'],
  ['ssh', 'password'],
] as const;
export const maskedPaths = [['user'], ...secretPaths] as const;

export function memberOf(settings: Record<string, unknown>, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, name) => (value as Record<string, unknown> | undefined)?.[name],
    settings,
  );
}

export function readHubFile(
  text: string,
  { file, faults }: { file: string; faults: Fault[] },
): HubFile | undefined {
  const located = readYaml<Content>(text, { origin: { file, line: 1, column: 1 }, shape, faults });
  if (located === undefined) return undefined;
  const { hub: path, label, sources, folders, classifiers } = located.value;
  const { place } = located;
  const report = (at: (string | number)[], detail: string) => faults.push({ file, ...place(at), detail });
  if (!/^[a-z0-9_-]{1,200}$/.test(path)) report(['hub'], 'hub may have the characters a-z, 0-9, - and _');
  (sources ?? []).forEach(({ connectionSettings, label: name }, i) => {
    for (const secret of secretPaths) {
      const value = memberOf(connectionSettings, secret);
      if (value !== undefined && value !== null && envName(value) === undefined)
        report(
          ['sources', i, 'connectionSettings', ...secret],
          `${secret.join('.')} is a secret and must not be in the file; write \${env:NAME}`,
        );
    }
    if (sources.findIndex((one) => one.label === name) < i)
      report(['sources', i, 'label'], `Another source has the label ${name}`);
  });
  const read = (folders ?? []).map((folder, i) => {
    const labels = typeof folder === 'string' ? folder.split('/') : folder;
    const isPath = Array.isArray(labels) && labels.every((one) => typeof one === 'string' && one !== '');
    if (!isPath) report(['folders', i], 'must be a text such as Reports/Monthly, or a list of labels');
    return isPath ? labels : [];
  });
  reportTwice(read.map(folderKey), (i) => report(['folders', i], `${read[i]?.join('/')} is listed twice`));
  const names = (classifiers ?? []).map(({ name }) => name);
  reportTwice(names, (i) => report(['classifiers', i, 'name'], `${names[i]} is listed twice`));
  return {
    model: { path, label, sources: sources ?? [], folders: read, classifiers: classifiers ?? [] },
    place,
  };
}

function reportTwice(keys: readonly string[], report: (index: number) => void): void {
  keys.forEach((key, i) => {
    if (keys.indexOf(key) < i) report(i);
  });
}

export function writeHubFile({
  path,
  label,
  sources,
  folders,
  classifiers,
}: Omit<HubModel, 'queries'>): string {
  const isPlain = (labels: string[]) => labels.every((one) => !one.includes('/'));
  return writeYaml({
    hub: path,
    label,
    sources,
    folders: folders.map((labels) => (isPlain(labels) ? labels.join('/') : labels)),
    ...(classifiers.length === 0 ? {} : { classifiers }),
  });
}

/** The variable of the environment for a setting of a source, such as SHOP_ORDERS_PASSWORD. */
export function envNameOf({ hub, label }: { hub: string; label: string }, path: readonly string[]): string {
  const prefix = toPath(`${hub}_${label}`).replaceAll('-', '_');
  return `${prefix}_${path.join('_')}`.toUpperCase();
}

/** The variables of the environment for the sources of a hub. No source gets one of another, whatever the labels. */
export class SourceVariables {
  readonly #hub: string;
  readonly #ownerOf = new Map<string, string>();

  /** `before`: sources that have theirs. */
  constructor(hub: string, before: readonly SourceModel[] = []) {
    this.#hub = hub;
    for (const { label, connectionSettings } of before)
      for (const path of maskedPaths) {
        const name = envName(memberOf(connectionSettings, path));
        if (name !== undefined) this.#ownerOf.set(name, label);
      }
  }

  /** Returns the variables of these settings of a source, in their order. */
  take(label: string, paths: readonly (readonly string[])[]): string[] {
    for (let count = 1; ; count++) {
      const suffix = count === 1 ? [] : [`${count}`];
      const names = paths.map((path) => envNameOf({ hub: this.#hub, label }, [...suffix, ...path]));
      if (names.some((name) => (this.#ownerOf.get(name) ?? label) !== label)) continue;
      for (const name of names) this.#ownerOf.set(name, label);
      return names;
    }
  }
}

/**
 * The settings of a source as they may be in a file: what the hub masks becomes `${env:NAME}`. Expressions that the
 * file had before stay, and so does its user.
 */
export function toFileSettings(
  { label, connectionSettings }: SourceModel,
  { variables, before = {} }: { variables: SourceVariables; before?: Record<string, unknown> | undefined },
): Record<string, unknown> {
  const settings = structuredClone(connectionSettings);
  if (settings.passwordFrom !== undefined) delete settings.password;
  const masked = maskedPaths.filter((path) => !['', undefined].includes(memberOf(settings, path) as string));
  const names = variables.take(label, masked);
  for (const [i, path] of masked.entries()) setMember(settings, path, `\${env:${names[i]}}`);
  return keepExpressions(settings, before);
}

function keepExpressions(
  settings: Record<string, unknown>,
  before: Record<string, unknown>,
): Record<string, unknown> {
  // The order of the file stays, so that an export changes no line that says the same.
  const names = [
    ...new Set([...Object.keys(before).filter((name) => name in settings), ...Object.keys(settings)]),
  ];
  return Object.fromEntries(
    names.map((name) => {
      const [value, old] = [settings[name], before[name]];
      if (old !== undefined && (envName(old) !== undefined || name === 'user')) return [name, old];
      const isInner = isObject(value) && isObject(old);
      return [name, isInner ? keepExpressions(value, old) : value];
    }),
  );
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function setMember(
  settings: Record<string, unknown>,
  [first = '', ...rest]: readonly string[],
  value: string,
): void {
  if (rest.length === 0) settings[first] = value;
  else setMember(settings[first] as Record<string, unknown>, rest, value);
}
