/** What a check says of the session of a query: whether policies hold at all, and who chooses its values. */

import { type SessionSettings, variablesOf } from '@datahub/contract/session-settings';
import type { QueryProblem } from '@datahub/proto/executor/v1/executor';
import type { Connection, Statement } from '../ports/engine.ts';
import type { PreparedQuery } from './prepare.ts';
import { readOne } from './read-one.ts';
import type { RunDeps } from './run-statement.ts';

/**
 * Reads with the path and role of the session. `owned` are tables whose policies their owner does not see, `loaded` the
 * names before the dot that are of extensions: settings of nobody else are in this view.
 */
const question = `SELECT r.rolsuper OR r.rolbypassrls AS bypasses, r.rolname AS name,
  (SELECT pg_catalog.string_agg(t.name, ', ') FROM (
    SELECT c.oid::pg_catalog.regclass::pg_catalog.text AS name FROM pg_catalog.pg_class c
    WHERE c.relrowsecurity AND NOT c.relforcerowsecurity AND pg_catalog.pg_has_role(c.relowner, 'USAGE')
    ORDER BY 1 LIMIT 5) t) AS owned,
  (SELECT pg_catalog.string_agg(DISTINCT pg_catalog.split_part(s.name, '.', 1), ', ') FROM pg_catalog.pg_settings s
    WHERE pg_catalog.split_part(s.name, '.', 1) = ANY (pg_catalog.string_to_array($1, ','))
    AND pg_catalog.strpos(s.name, '.') > 0) AS loaded
  FROM pg_catalog.pg_roles r WHERE r.rolname = current_user`;

interface Answer {
  data: { bypasses: boolean; name: string; owned: string | null; loaded: string | null }[];
}

const problem = (severity: 'error' | 'warning', code: string, detail: string): QueryProblem => ({
  severity,
  code,
  detail,
});

/** What can be said without the source. */
export function variableProblems(session: SessionSettings): QueryProblem[] {
  return variablesOf(session).map((name) =>
    problem(
      'warning',
      'SETTING_CHOSEN_BY_CALLER',
      `The session takes :${name} from the caller, unless the key pins it. Take a claim of the signed-in user, or pin the variable in limits.context of each key.`,
    ),
  );
}

export async function policyProblems(
  connection: Connection,
  prepared: PreparedQuery,
  {
    createWriter,
    timeoutMs,
    session,
  }: Pick<RunDeps, 'createWriter'> & { timeoutMs: number; session: SessionSettings },
): Promise<QueryProblem[]> {
  const [form] = prepared.describable();
  const prefixes = Object.keys(session.settings ?? {}).map((name) => name.split('.', 1)[0]);
  const statement: Statement = {
    key: 'datahub.policies',
    text: question,
    params: [prefixes.join(',')],
    kind: 'read',
    isOnce: true,
    session: form?.session,
  };
  const options = { statementTimeoutMs: timeoutMs };
  const { json } = await readOne(connection, statement, { options, createWriter });
  const [row] = json === undefined ? [] : (JSON.parse(json.toString()) as Answer).data;
  if (row === undefined) return [];
  const { bypasses, name, owned, loaded } = row;
  const found: QueryProblem[] = [];
  if (loaded !== null)
    found.push(
      problem(
        'error',
        'SETTING_OF_EXTENSION',
        `The session sets settings of an extension that the database has loaded: ${loaded}. Use another name before the dot.`,
      ),
    );
  if (bypasses)
    found.push(
      problem(
        'warning',
        'POLICIES_BYPASSED',
        `The user ${name} is a superuser or has BYPASSRLS, so no policy holds for it. Set session.role, or log in as another user.`,
      ),
    );
  else if (owned !== null)
    found.push(
      problem(
        'warning',
        'POLICIES_BYPASSED',
        `The user ${name} owns ${owned}, so their policies do not hold for it. Use ALTER TABLE … FORCE ROW LEVEL SECURITY, set session.role, or log in as another user.`,
      ),
    );
  return found;
}
