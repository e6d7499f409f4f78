/** The session of a statement: what is set for its transaction, from constants, claims of the signed-in user and variables. */

import { parseExact } from '@datahub/contract/exact-json';
import {
  claimsOf,
  type SessionSettings,
  sessionBounds,
  variablesOf,
} from '@datahub/contract/session-settings';
import { readClaim } from '@datahub/contract/user-limit';
import type { Variable } from '@datahub/proto/catalog/v1/catalog';
import { HubError } from '@datahub/service-kit/call/error';
import { declare, type Given, resolveValues, toJsonText, type Value } from './values.ts';

export type Setting = readonly [name: string, value: string];

/** The values of a call. */
export interface SessionValues extends Pick<Given, 'pinnedJson' | 'contextJson' | 'scalarsAsLists'> {
  /** The claims of the signed-in user; undefined if there is none. */
  claimsJson?: string | undefined;
}

export interface CompiledSession {
  readonly variables: readonly string[];
  /** Throws CLAIM_MISSING or CONTEXT_INVALID. */
  bind(values: SessionValues): readonly Setting[];
  /** What is known without a call. Names of tables and rights depend on it. */
  readonly constants: readonly Setting[];
}

/** For the statements whose transaction the hub does not begin. */
export const outsideOfTransaction = () =>
  new HubError(
    'SQL_REJECTED',
    'This statement runs outside of a transaction of the hub, so the session of its source or query would not hold for it. Bind it to a source without a session.',
    { stage: 'prepare', retryable: false },
  );

/** Undefined for a session that sets nothing. The role is set last, because it may not be allowed to set the rest. */
export function compileSession(
  session: SessionSettings,
  declared: readonly Variable[],
): CompiledSession | undefined {
  const { searchPath, role } = session;
  const settings = Object.entries(session.settings ?? {});
  if (searchPath === undefined && role === undefined && settings.length === 0) return undefined;
  const variables = variablesOf(session);
  const declarations = variables.map((name) =>
    declare(
      name,
      declared.find(({ key }) => key === name),
    ),
  );
  const { all, paths } = claimsOf(session);
  const readsClaims = all || paths.length > 0;
  const path: Setting[] = searchPath === undefined ? [] : [['search_path', searchPath]];
  const fixed = settings.flatMap(([name, { value }]): Setting[] =>
    value === undefined ? [] : [[name, value]],
  );
  const someRole = typeof role === 'object' ? role.among[0] : role;
  return {
    variables,
    constants: [...path, ...fixed, ...(someRole === undefined ? [] : [['role', someRole] as const])],
    bind: ({ pinnedJson, contextJson, scalarsAsLists, claimsJson }) => {
      const claims = readsClaims ? claimsOfUser(claimsJson) : {};
      // Names that are no variables are for the statement to find: it knows all variables of the query.
      const given = { pinnedJson, contextJson, scalarsAsLists };
      const resolved = variables.length === 0 ? [] : resolveValues(declarations, given);
      const bound: Setting[] = [...path];
      for (const [name, setting] of settings) {
        const { value, claim, variable } = setting;
        if (value !== undefined) bound.push([name, value]);
        else if (claim !== undefined) bound.push([name, textOfClaim(claims, claim)]);
        else if (variable !== undefined) bound.push([name, toText(resolved[variables.indexOf(variable)])]);
        else bound.push([name, claimsJson as string]);
      }
      if (typeof role === 'string') bound.push(['role', role]);
      else if (role !== undefined) bound.push(['role', roleOf(role, claims)]);
      return bound;
    },
  };
}

const claimMissing = (message: string) =>
  new HubError('CLAIM_MISSING', message, { stage: 'prepare', retryable: false });

function claimsOfUser(json: string | undefined): object {
  if (json !== undefined) return parseExact(json) as object;
  throw claimMissing(
    `The session of this query is set from claims of a signed-in user. Call it with a key that has limits.user, and with a token whose claims have at most ${sessionBounds.claimsBytes.max} bytes.`,
  );
}

/** Null and what a setting cannot hold count as missing. */
function textOfClaim(claims: object, path: string): string {
  const value = readClaim(claims, path);
  const text = value === undefined || value === null ? undefined : toText(value);
  if (text !== undefined && !text.includes('\0')) return text;
  throw claimMissing(
    `The token of the signed-in user has no claim ${path}, which the session of this query needs.`,
  );
}

function roleOf({ claim, among }: { claim: string; among: readonly string[] }, claims: object): string {
  const name = textOfClaim(claims, claim);
  if (among.includes(name)) return name;
  throw claimMissing(`The claim ${claim} of the signed-in user is none of the roles of this query.`);
}

/** Claims are JSON. Numbers with all digits; null as an empty text, as a setting is after its transaction. */
const toText = (value: unknown): string =>
  typeof value === 'string' ? value : value === null || value === undefined ? '' : toJsonText(value as Value);
