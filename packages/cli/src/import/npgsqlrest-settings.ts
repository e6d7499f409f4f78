/** What NpgsqlRest's configuration does to all endpoints: it can fill parameters from the claims of the signed-in user. */

import { type ExportFile, isRecord } from './read-export.ts';

export interface Settings {
  /** The parameters whose values the caller does not choose, in lower case. */
  filled: ReadonlySet<string>;
  /** True if the files have a configuration. */
  isKnown: boolean;
  /** True if statements find claims in `current_setting`. */
  setsContext: boolean;
}

const prefix = 'npgsqlrest:authenticationoptions:';
const mapped = ['_user_id', '_user_name', '_user_roles'];

/** Keys are the same in any case, and the members of all files count together. */
export function readSettings(files: readonly ExportFile[]): Settings {
  const configurations = files.filter(
    ({ name, text }) => /\.json$/i.test(name) && /"NpgsqlRest\b/i.test(text),
  );
  const members = configurations.flatMap(({ text }) => flatten(parse(text), ''));
  const find = (key: string) => members.filter(([name]) => name === prefix + key).map(([, value]) => value);
  // A value can be the name of an environment variable.
  const isOn = (key: string) => find(key).some((value) => !/^(?:false|null|)$/i.test(String(value)));
  const named = (key: string, otherwise: string) => [otherwise, ...find(key).map(String)];
  const own = members
    .filter(([name]) => name.startsWith(`${prefix}parameternameclaimsmapping:`))
    .map(([name]) => name.split(':').at(-1) as string);
  const isKnown = configurations.length > 0;
  const filled = [
    ...(own.length > 0 ? own : mapped),
    ...named('claimsjsonparametername', '_user_claims'),
    ...named('ipaddressparametername', '_ip_address'),
  ];
  return {
    filled: new Set(!isKnown || isOn('useuserparameters') ? filled.map((name) => name.toLowerCase()) : []),
    isKnown,
    setsContext: isOn('useusercontext'),
  };
}

/** JSON with comments. What cannot be read may do everything. */
function parse(text: string): unknown {
  const plain = text
    .replaceAll(/("(?:[^"\\]|\\.)*")|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, (_, quoted) => quoted ?? '')
    .replaceAll(/,(?=\s*[}\]])/g, '');
  try {
    return JSON.parse(plain);
  } catch {
    return { [prefix]: { useuserparameters: true, useusercontext: true } };
  }
}

/** The paths of the members in lower case, with their values. */
function flatten(value: unknown, path: string): [string, unknown][] {
  if (!isRecord(value)) return [[path, value]];
  return Object.entries(value).flatMap(([name, member]) => {
    const key = name.toLowerCase();
    return flatten(member, path === '' || path.endsWith(':') ? path + key : `${path}:${key}`);
  });
}

/** Why the value of a parameter would not be that of NpgsqlRest. */
export function faultOfFilled(name: string, { filled, isKnown }: Settings): string | undefined {
  if (!filled.has(name.toLowerCase())) return undefined;
  return isKnown
    ? `NpgsqlRest fills ${name} from the claims of the signed-in user. Here the caller would choose it.`
    : `NpgsqlRest fills ${name} from the claims of the signed-in user if its configuration has UseUserParameters. Add appsettings.json to the files.`;
}
