/** Shows a failure: the hub's message, and what to do next. */

import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { bySession, key } from '../api/session.ts';
import type { Problem } from '../api/types.ts';
import { Icon } from './icons.tsx';
import { wordsOfProblem } from './problem-words.ts';

export function ProblemBox({ problem, children }: { problem: Problem; children?: ComponentChildren }) {
  const { code, status, stage, sql, requestId } = problem;
  const ref = useRef<HTMLDivElement>(null);
  // Below a long form, it would be out of sight.
  useLayoutEffect(() => {
    if (ref.current?.closest('dialog')) ref.current.scrollIntoView({ block: 'nearest' });
  }, [problem]);
  const { title, text, faults } = wordsOfProblem(problem, key.value === bySession);
  const facts = [
    code === undefined ? undefined : `${code}${status ? ` (${status})` : ''}`,
    stage === undefined ? undefined : `while: ${stage}`,
    sql?.line === undefined ? undefined : `line ${sql.line}, column ${sql.column ?? 1}`,
    sql?.state === undefined ? undefined : `SQLSTATE ${sql.state}`,
    requestId === undefined ? undefined : `request ${requestId}`,
  ].filter((fact) => fact !== undefined);
  return (
    <div class="problem" role="alert" ref={ref}>
      <Icon name="warn" />
      <div>
        <p>
          {title !== '' && <strong>{text === '' ? title : `${title}: `}</strong>}
          {text}
        </p>
        {faults.length > 0 && (
          <ul>
            {faults.map((fault) => (
              <li key={fault}>{fault}</li>
            ))}
          </ul>
        )}
        {facts.length > 0 && <p class="hint">{facts.join(' · ')}</p>}
        {children}
      </div>
    </div>
  );
}
