/** The file of a key: its scopes and limits, with the paths of queries and the names of classifiers, without its text. */

import { writeCanonical } from './compare.ts';
import type { Fault } from './fault.ts';
import type { KeyModel } from './model.ts';
import type { QueryFile } from './query-file.ts';
import { envName, type Located, readYaml, type Shape, writeYaml } from './yaml.ts';

const limits: Shape = {
  members: {
    queries: { list: 'text' },
    classifiers: { list: 'text' },
    origins: { list: 'text' },
    context: 'object',
    ratePerMinute: 'whole number',
    maxRows: 'whole number',
    strict: 'boolean',
    user: {
      members: {
        issuer: 'text',
        audience: 'text',
        jwks: 'any',
        claims: 'object',
        ratePerMinute: 'whole number',
        public: { list: 'text' },
      },
      required: ['issuer', 'audience', 'claims'],
    },
  } satisfies Record<keyof KeyModel['limits'], Shape>,
};
const members = {
  scopes: { list: 'text' },
  limits,
  expiresAt: {
    pattern: String.raw`^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$`,
    what: 'a timestamp with a zone, such as 2027-01-31T00:00:00Z',
  },
} as const satisfies Record<Exclude<keyof KeyModel, 'path'>, Shape>;
const shape: Shape = { members, required: ['scopes'] };

export interface KeyFile {
  file: string;
  model: KeyModel;
  place: Located<unknown>['place'];
}

type Front = Pick<KeyModel, 'scopes'> & Partial<KeyModel>;

export function readKeyFile(
  text: string,
  { file, path, faults }: { file: string; path: string; faults: Fault[] },
): KeyFile | undefined {
  const located = readYaml<Front>(text, { origin: { file, line: 1, column: 1 }, shape, faults });
  if (located === undefined) return undefined;
  const model = { limits: {}, ...located.value, path };
  return { file, model, place: located.place };
}

export function writeKeyFile({ scopes, limits: of, expiresAt }: KeyModel): string {
  const known = {
    scopes,
    ...(Object.keys(of).length === 0 ? {} : { limits: of }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  };
  return writeYaml(known);
}

/** The order of lists does not matter, and an absent limit is none. */
const toComparable = ({ scopes, limits: of, expiresAt }: KeyModel): Record<string, unknown> => ({
  scopes: [...scopes].sort(),
  limits: Object.fromEntries(
    Object.entries(of).flatMap(([name, value]) => {
      if (value === undefined || value === false) return [];
      return [[name, Array.isArray(value) ? [...value].sort() : value]];
    }),
  ),
  // A time that does not exist is no absent one: the hub refuses it.
  expiresAt: expiresAt && (Date.parse(expiresAt) || expiresAt),
});

/** A pinned value that the file keeps in the environment is the same as whatever the key pins. */
export function changedKeyMembers(mine: KeyModel, theirs: KeyModel): string[] {
  const context = Object.entries(mine.limits.context ?? {}).map(([name, value]) => {
    const pins = theirs.limits.context ?? {};
    return [name, envName(value) !== undefined && Object.hasOwn(pins, name) ? pins[name] : value];
  });
  const known = context.length === 0 ? {} : { context: Object.fromEntries(context) };
  const [one, other] = [
    toComparable({ ...mine, limits: { ...mine.limits, ...known } }),
    toComparable(theirs),
  ];
  return Object.keys(members).filter((name) => writeCanonical(one[name]) !== writeCanonical(other[name]));
}

/** Files contain no secrets. */
export function faultsOfPins({ file, model, place }: KeyFile, queries: readonly QueryFile[]): Fault[] {
  const { queries: own, context = {} } = model.limits;
  const used = queries.filter((query) => own?.includes(query.model.path) !== false);
  const declared = used.flatMap((query) => query.model.context);
  return Object.entries(context).flatMap(([name, value]) => {
    const isSecret = declared.some(({ key, secret }) => key === name && secret === true);
    if (!isSecret || envName(value) !== undefined) return [];
    const detail = `${name} is a secret variable, so its value must not be in the file; write \${env:NAME}`;
    return [{ file, ...place(['limits', 'context', name]), detail }];
  });
}
