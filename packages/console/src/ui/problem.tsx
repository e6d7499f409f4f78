/** Shows a failure: the hub's message, and what to do next. */

import type { ComponentChildren } from 'preact';
import type { Problem } from '../api/types.ts';
import { Icon } from './icons.tsx';

const advice: Record<string, string> = {
  KEY_INVALID: 'Check that the whole key was pasted. “npm run datahub -- keys create” creates a new one.',
  KEY_EXPIRED: '“npm run datahub -- keys create” creates a new one.',
  SCOPE_DENIED: 'Sign in with a key that has the scope, or ask the person who created this key.',
  SOURCE_GONE: 'Select another source for this query.',
  SOURCE_UNREACHABLE:
    'The database must be running, and reachable from the hub, and DATAHUB_SOURCES_ALLOW must permit its address.',
  SOURCE_AUTH: 'Check user, password and database. After five refused log-ins the hub pauses for a minute.',
  SOURCE_TLS: 'Select another TLS mode, or add the certificate authority of the database.',
  SOURCE_BUSY: 'All connections are in use. Try again, or raise the pool size of the source.',
  STATEMENT_TIMEOUT: 'Read less, or raise the statement time limit of the source.',
  NOT_TRAINED: 'Train it with some examples first.',
  VERSION_MISMATCH: 'Someone else has changed it. Refresh, and make your change again.',
  VERSION_CHANGED: 'Someone else has changed the query. Refresh, and run it again.',
  NOT_EMPTY: 'Delete or move its contents first.',
  COMMAND_MISMATCH: 'Select the command that the statement begins with.',
  RATE_LIMITED: 'Wait a moment and try again.',
};

export function ProblemBox({ problem, children }: { problem: Problem; children?: ComponentChildren }) {
  const { title = 'It failed', detail = '', code, status, stage, sql, errors = [], requestId } = problem;
  const facts = [
    code === undefined ? undefined : `${code}${status ? ` (${status})` : ''}`,
    stage === undefined ? undefined : `while: ${stage}`,
    sql?.line === undefined ? undefined : `line ${sql.line}, column ${sql.column ?? 1}`,
    sql?.state === undefined ? undefined : `SQLSTATE ${sql.state}`,
    requestId === undefined ? undefined : `request ${requestId}`,
  ].filter((fact) => fact !== undefined);
  return (
    <div class="problem" role="alert">
      <Icon name="warn" />
      <div>
        <p>
          <strong>{detail.startsWith(title) ? '' : `${title}: `}</strong>
          {detail} {advice[code ?? ''] ?? ''}
        </p>
        {errors.length > 0 && (
          <ul>
            {errors.map(({ pointer, detail }) => (
              <li key={pointer + detail}>
                <code>{pointer || '(body)'}</code> {detail}
              </li>
            ))}
          </ul>
        )}
        {facts.length > 0 && <p class="hint">{facts.join(' · ')}</p>}
        {children}
      </div>
    </div>
  );
}
