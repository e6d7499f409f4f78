/** What is set for the transaction of each statement: shown, and changed over the API or in files. */

import type { QueryVersion } from '../api/types.ts';

type Session = NonNullable<QueryVersion['session']>;

const usesClaims = ({ role, settings = {} }: Session): boolean =>
  typeof role === 'object' ||
  Object.values(settings).some(({ claim, claims }) => claim !== undefined || claims === true);

function rowsOf({ searchPath, role, settings = {} }: Session): [string, string][] {
  const words = ({ value, claim, variable }: NonNullable<Session['settings']>[string]): string => {
    if (value !== undefined) return `“${value}”`;
    if (claim !== undefined) return `claim ${claim} of the signed-in user`;
    return variable === undefined ? 'all claims of the signed-in user' : `:${variable} of the call`;
  };
  return [
    ...(searchPath === undefined ? [] : [['search_path', searchPath] as [string, string]]),
    ...Object.entries(settings).map(([name, value]): [string, string] => [name, words(value)]),
    ...(role === undefined
      ? []
      : [
          [
            'role',
            typeof role === 'string' ? role : `claim ${role.claim}, one of ${role.among.join(', ')}`,
          ] as [string, string],
        ]),
  ];
}

export function SessionFacts({ session }: { session: Session | undefined }) {
  if (session === undefined) return null;
  return (
    <section aria-label="Session">
      <h3>Session</h3>
      <table>
        <tbody>
          {rowsOf(session).map(([name, words]) => (
            <tr key={name}>
              <th scope="row">
                <code>{name}</code>
              </th>
              <td>{words}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="hint">
        The hub sets this for the transaction of each statement. Change it in the hub’s files or over the API.
        {usesClaims(session) &&
          ' It reads claims, so executions need a key with limits.user and the token of a signed-in user: runs in this console answer 403 CLAIM_MISSING.'}
      </p>
    </section>
  );
}
