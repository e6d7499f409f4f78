/** The home of a hub: pinned queries as cards, and what is known of each query. */

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { callList, part } from '../../api/client.ts';
import { toText } from '../../api/exact.ts';
import type { ListedQuery, Variable } from '../../api/types.ts';
import { may } from '../../state/permissions.ts';
import { ownOf } from '../../state/variables.ts';
import { Icon } from '../../ui/icons.tsx';
import { useLoad } from '../../ui/load.tsx';
import { Loading } from '../../ui/page.tsx';
import { ProblemBox } from '../../ui/problem.tsx';
import { BoardLinks } from './board-links.tsx';
import { Card } from './card.tsx';
import { cardsMax } from './cards.ts';
import { Drafts } from './drafts.tsx';
import { commonVariables, defaultOf, isPinned, variablesOf } from './pinned.ts';
import { QueryList } from './query-list.tsx';

/** A page of so many queries with long texts is below the size that the hub sends. */
const pageSize = 2_500;

export const readHome = (hubId: string, signal: AbortSignal): Promise<ListedQuery[]> =>
  callList(`v1/queries?hubId=${part(hubId)}&latest=1&stats=1&signature=1`, { signal, pageSize });

interface HomeProps {
  hubId: string;
  /** Shown in place of cards, if no query is pinned. */
  children: ComponentChildren;
}

export function Home({ hubId, children }: HomeProps) {
  const loaded = useLoad((signal) => readHome(hubId, signal), [hubId]);
  const [turn, setTurn] = useState(0);
  const [values, setValues] = useState<Record<string, string>>({});
  if (!may('queries:read')) return <>{children}</>;
  if (loaded.problem !== undefined) return <ProblemBox problem={loaded.problem} />;
  if (loaded.value === undefined) return <Loading what="the queries" />;
  const queries = loaded.value;
  const pinned = may('queries:execute') ? queries.filter(isPinned) : [];
  const sent = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''));
  return (
    <>
      <BoardLinks hubId={hubId} />
      <Drafts hubId={hubId} />
      {pinned.length === 0 && children}
      {pinned.length > 0 && (
        <>
          <div class="home-bar">
            {commonVariables(pinned.map(variablesOf)).map((variable) => (
              <CommonVariable
                key={variable.key}
                variable={variable}
                value={ownOf(values, variable.key) ?? ''}
                onChange={(value) => setValues({ ...values, [variable.key]: value })}
              />
            ))}
            <span class="spring" />
            <button type="button" onClick={() => setTurn(turn + 1)}>
              <Icon name="refresh" /> Refresh
            </button>
          </div>
          <ul class="cards" aria-label="Pinned queries">
            {pinned.slice(0, cardsMax).map((query) => (
              <li key={query.config.query.queryId}>
                <Card query={query} values={sent} turn={turn} />
              </li>
            ))}
          </ul>
          {pinned.length > cardsMax && (
            <p class="hint">
              The first {cardsMax} of {pinned.length} pinned queries. Unpin some in their charts.
            </p>
          )}
        </>
      )}
      <QueryList queries={queries} />
    </>
  );
}

/** Wide enough for a time with its zone. */
const sizeOf = (value: string): number => Math.min(32, Math.max(14, value.length + 2));

interface CommonVariableProps {
  variable: Variable;
  value: string;
  onChange(value: string): void;
}

export function CommonVariable({ variable, value, onChange }: CommonVariableProps) {
  const { key, type = '' } = variable;
  const usual = defaultOf(variable);
  const change = ({ currentTarget }: { currentTarget: { value: string } }) => onChange(currentTarget.value);
  const id = `common-${key}`;
  const common = { id, value: value || usual, onChange: change };
  return (
    <span class="common">
      <label for={id}>{key}</label>
      {variable.enum !== undefined && (
        <select {...common}>
          {usual === '' && <option value="">not sent</option>}
          {variable.enum.map(toText).map((choice) => (
            <option key={choice} value={choice}>
              {choice}
            </option>
          ))}
        </select>
      )}
      {variable.enum === undefined &&
        (type === 'date' ? (
          <input type="date" {...common} />
        ) : (
          <input type="text" size={sizeOf(common.value)} {...common} />
        ))}
    </span>
  );
}
