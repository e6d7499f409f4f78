/** What differs between two versions of a query, apart from the lines of their texts. */

import { toText } from '../../../api/exact.ts';
import type { CachePolicy, QueryVersion, Variable } from '../../../api/types.ts';

export interface Difference {
  what: string;
  before: string;
  after: string;
}

/** What a version and a draft have in common. */
export interface Settings
  extends Pick<QueryVersion, 'label' | 'sourceId' | 'command' | 'cache' | 'notNull' | 'errors' | 'session'>,
    Pick<QueryVersion, 'steps' | 'isolation' | 'retry' | 'keepValues'> {
  context: Variable[];
}

const none = 'none';

/** @param sourceName returns the name of a source by its id */
export function differencesOf(
  before: Settings,
  after: Settings,
  sourceName: (sourceId: string) => string,
): Difference[] {
  const read = (version: Settings): [string, string][] => [
    ['Name', version.label],
    ['Source', sourceName(version.sourceId)],
    ['Command', version.command],
    ...version.context.map((one): [string, string] => [`Variable ${one.key}`, variableWords(one)]),
    ['Cache', cacheWords(version.cache)],
    ['Never null', version.notNull?.join(', ') ?? none],
    ['Texts of errors', version.errors ?? none],
    ['Steps', version.steps === undefined ? none : toText(version.steps)],
    ['Isolation', version.isolation ?? none],
    ['Repeats', version.retry ? 'after serialization failures and deadlocks' : none],
    ['Values of runs', version.keepValues ? 'kept' : none],
    ['Session', version.session === undefined ? none : toText(version.session)],
  ];
  const [left, right] = [new Map(read(before)), new Map(read(after))];
  return [...new Set([...left.keys(), ...right.keys()])]
    .map((what) => ({ what, before: left.get(what) ?? none, after: right.get(what) ?? none }))
    .filter((one) => one.before !== one.after);
}

/** Values as JSON, which tells 1 from "1". */
function variableWords({ type, value, required, enum: allowed, description, secret }: Variable): string {
  const words = [
    type ?? 'any type',
    value === undefined ? undefined : `default ${JSON.stringify(value)}`,
    required ? 'required' : undefined,
    allowed === undefined ? undefined : `one of ${allowed.map((one) => JSON.stringify(one)).join(', ')}`,
    secret ? 'secret' : undefined,
    description === undefined ? undefined : `“${description}”`,
  ];
  return words.filter((word) => word !== undefined).join(', ');
}

function cacheWords(cache: CachePolicy | undefined): string {
  if (cache === undefined) return none;
  const { maxAgeS, staleS, validate } = cache;
  const words = [
    `${maxAgeS} s`,
    staleS === undefined ? undefined : `then ${staleS} s in the background`,
    validate === undefined ? undefined : `checked with ${validate}`,
  ];
  return words.filter((word) => word !== undefined).join(', ');
}

/** The parts of a query that differ, such as `statement` and `variables`. */
export function partsThatDiffer(before: QueryVersion, after: QueryVersion): string[] {
  const statement = before.text === after.text ? [] : ['statement'];
  const others = differencesOf(before, after, (sourceId) => sourceId).map(({ what }) =>
    what.startsWith('Variable ') ? 'variables' : what.toLowerCase(),
  );
  return [...new Set([...statement, ...others])];
}

/** What a version did, in the words of a list. */
export function changeWords(version: QueryVersion, before: QueryVersion | undefined): string {
  if (version.restoredFrom !== undefined) return `restored version ${version.restoredFrom}`;
  if (before === undefined) return version.number === 1 ? 'created' : 'oldest version';
  return partsThatDiffer(before, version).join(', ');
}
