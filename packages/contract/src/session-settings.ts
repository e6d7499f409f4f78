/**
 * `session` of a source or a query: settings of PostgreSQL that hold for the transaction of one statement. Policies of
 * row-level security read them with `current_setting`.
 */

import type { FieldFault, FieldPath } from './validation-error.ts';

export interface SessionSettings {
  searchPath?: string | undefined;
  /** The name of a role, or a claim with one of these names. */
  role?: string | RoleOfClaim | undefined;
  settings?: { [name: string]: SettingValue } | undefined;
}

export interface RoleOfClaim {
  claim: string;
  among: readonly string[];
}

/** Has exactly one of the members. */
export interface SettingValue {
  value?: string | undefined;
  /** The path of a claim of the signed-in user. */
  claim?: string | undefined;
  /** All claims of the user, as JSON. */
  claims?: true | undefined;
  /** A variable of the query. */
  variable?: string | undefined;
}

export const sessionBounds = {
  searchPathLength: { min: 1, max: 1_000 },
  /** NAMEDATALEN of PostgreSQL, less its end. */
  roleBytes: { min: 1, max: 63 },
  roles: { min: 1, max: 20 },
  settings: { min: 0, max: 20 },
  settingNameLength: { min: 3, max: 100 },
  settingValueLength: { min: 0, max: 1_000 },
  claimPathLength: { min: 1, max: 200 },
  /** Of the claims of a token, which travel with each call of its user. */
  claimsBytes: { min: 0, max: 8_192 },
} as const;

/** The names of custom settings have a dot, so no setting of the server itself has such a name. */
export const settingNamePattern = '^[a-z_][a-z0-9_]*(\\.[a-z_][a-z0-9_]*)+$';
const isSettingName = new RegExp(settingNamePattern);
const isVariable = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

/** Extensions of PostgreSQL's own distribution that have settings. Those that a database has loaded are refused by `check`. */
const extensions = new Set([
  ...[
    'plpgsql',
    'plperl',
    'plpython',
    'pltcl',
    'auto_explain',
    'auth_delay',
    'basic_archive',
    'passwordcheck',
  ],
  ...['pg_prewarm', 'pg_stat_statements', 'pg_trgm', 'pg_plan_advice', 'postgres_fdw', 'sepgsql', 'isn'],
]);

type Members = Record<string, unknown>;
const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isText = (value: unknown, { min, max }: { min: number; max: number }): value is string =>
  typeof value === 'string' &&
  value.length >= min &&
  value.length <= max &&
  !value.includes('\0') &&
  value.isWellFormed();

const isRole = (value: unknown) =>
  isText(value, sessionBounds.roleBytes) &&
  new TextEncoder().encode(value).length <= sessionBounds.roleBytes.max;

/** The faults of a session, with paths that begin inside of it. */
export function faultsOfSession(session: unknown): FieldFault[] {
  const faults: FieldFault[] = [];
  const fault = (detail: string, ...path: FieldPath) => {
    faults.push({ path, detail });
  };
  if (!isObject(session)) return [{ path: [], detail: 'must be an object' }];
  const { searchPath, role, settings, ...others } = session;
  for (const name of Object.keys(others)) fault('is not a member of a session', name);
  const { searchPathLength, settings: count } = sessionBounds;
  if (searchPath !== undefined && !isText(searchPath, searchPathLength))
    fault(`must be a text of ${searchPathLength.min} to ${searchPathLength.max} characters`, 'searchPath');
  faultsOfRole(role, fault);
  if (settings === undefined) return faults;
  if (!isObject(settings)) fault('must be an object', 'settings');
  else if (Object.keys(settings).length > count.max)
    fault(`must have at most ${count.max} settings`, 'settings');
  else
    for (const [name, value] of Object.entries(settings)) {
      const detail = faultOfSettingName(name) ?? faultOfSettingValue(value);
      const shown = name.slice(0, sessionBounds.settingNameLength.max).toWellFormed();
      if (detail !== undefined) fault(detail, 'settings', shown);
    }
  return faults;
}

function faultsOfRole(role: unknown, fault: (detail: string, ...path: FieldPath) => void): void {
  const { roleBytes, roles, claimPathLength } = sessionBounds;
  if (role === undefined || isRole(role)) return;
  if (!isObject(role)) {
    fault(`must be the name of a role, of at most ${roleBytes.max} bytes`, 'role');
    return;
  }
  const { claim, among, ...others } = role;
  for (const name of Object.keys(others)) fault('is not a member of a role', 'role', name);
  if (!isText(claim, claimPathLength)) fault('must be the name of a claim', 'role', 'claim');
  const isList = Array.isArray(among) && among.length >= roles.min && among.length <= roles.max;
  if (!isList || !among.every(isRole))
    fault(`must be a list of ${roles.min} to ${roles.max} names of roles`, 'role', 'among');
}

function faultOfSettingName(name: string): string | undefined {
  const { min, max } = sessionBounds.settingNameLength;
  if (name.length < min || name.length > max || !isSettingName.test(name))
    return 'must be a name such as app.user_id: lower case, with a dot';
  const [prefix = ''] = name.split('.');
  return extensions.has(prefix) ? `is a setting of the extension ${prefix}` : undefined;
}

function faultOfSettingValue(value: unknown): string | undefined {
  const one = 'must have exactly one of value, claim, claims and variable';
  if (!isObject(value) || Object.keys(value).length !== 1) return one;
  const { settingValueLength, claimPathLength } = sessionBounds;
  if ('value' in value)
    return isText(value.value, settingValueLength)
      ? undefined
      : `must have a value that is a text of at most ${settingValueLength.max} characters`;
  if ('claim' in value)
    return isText(value.claim, claimPathLength) ? undefined : 'must have the name of a claim';
  if ('claims' in value) return value.claims === true ? undefined : 'must have claims: true';
  if ('variable' in value)
    return typeof value.variable === 'string' && isVariable.test(value.variable)
      ? undefined
      : 'must have the name of a variable';
  return one;
}

/** JSON with its members in one order, so that equal sessions have equal texts; undefined if it sets nothing. */
export function toSessionJson({ searchPath, role, settings = {} }: SessionSettings): string | undefined {
  const names = Object.keys(settings).sort();
  if (searchPath === undefined && role === undefined && names.length === 0) return undefined;
  return JSON.stringify({
    searchPath,
    role: typeof role === 'object' ? { claim: role.claim, among: role.among } : role,
    settings:
      names.length === 0 ? undefined : Object.fromEntries(names.map((name) => [name, settings[name]])),
  });
}

export const parseSession = (json: string | undefined): SessionSettings =>
  json === undefined || json === '' ? {} : (JSON.parse(json) as SessionSettings);

/** Adds the session of a query to that of its source. `replaced` are members of the source that the query has, too. */
export function joinSessions(
  source: SessionSettings,
  query: SessionSettings,
): { session: SessionSettings; replaced: string[][] } {
  const names = Object.keys(query.settings ?? {}).filter((name) => source.settings?.[name] !== undefined);
  const members = (['searchPath', 'role'] as const).filter(
    (name) => source[name] !== undefined && query[name] !== undefined,
  );
  return {
    session: { ...query, ...source, settings: { ...query.settings, ...source.settings } },
    replaced: [...members.map((name) => [name]), ...names.map((name) => ['settings', name])],
  };
}

/** The claims that a session reads; `all` if it takes all of them. */
export function claimsOf({ role, settings = {} }: SessionSettings): { all: boolean; paths: string[] } {
  const values = Object.values(settings);
  const ofRole = typeof role === 'object' ? [role.claim] : [];
  return {
    all: values.some(({ claims }) => claims),
    paths: [...ofRole, ...values.flatMap(({ claim }) => claim ?? [])],
  };
}

export const variablesOf = ({ settings = {} }: SessionSettings): string[] => [
  ...new Set(Object.values(settings).flatMap(({ variable }) => variable ?? [])),
];

/** Says why a call that succeeded can fail once the query or its source has another session. */
export function lossOfSession(
  before: SessionSettings | null = {},
  after: SessionSettings | null = {},
): string | undefined {
  const [old, next] = [claimsOf(before ?? {}), claimsOf(after ?? {})];
  const added = next.paths.filter((path) => !old.paths.includes(path));
  if (added.length > 0) return `calls without the claim ${added.join(', ')} of a signed-in user fail`;
  if (next.all && !old.all && old.paths.length === 0) return 'calls without a signed-in user fail';
  const [had = [], has = []] = [before, after].map((one) =>
    typeof one?.role === 'object' ? one.role.among : undefined,
  );
  const gone = had.filter((role) => !has.includes(role));
  return has.length > 0 && gone.length > 0 ? `users with the role ${gone.join(', ')} fail` : undefined;
}
