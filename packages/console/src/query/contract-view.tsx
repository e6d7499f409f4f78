/** What the query promises: its columns and variables as its source describes them, and what it runs on. */

import { may } from '../api/permissions.ts';
import type { Signature } from '../api/types.ts';
import { Chips } from '../parts/chips.tsx';
import { Choice, Field } from '../parts/field.tsx';
import { Scrolling, TableHead } from '../parts/page.tsx';
import { ProblemBox } from '../parts/problem.tsx';
import { commands, reads } from './commands.ts';
import { SourceChoice } from './source-choice.tsx';
import type { Draft, QueryWork } from './work.ts';

export function ContractView({ work }: { work: QueryWork }) {
  const draft = work.draft.value;
  if (draft === undefined) return null;
  const verbs = commands.includes(draft.command) ? commands : [draft.command, ...commands];
  return (
    <div class="page contract">
      <fieldset class="bare columns-2" disabled={!may('queries:write')}>
        <SourceChoice value={draft.sourceId} onChange={(sourceId) => work.edit({ sourceId })} />
        <Choice
          label="Command"
          value={draft.command}
          options={verbs.map((verb) => [verb, verb] as const)}
          onChange={(command) => work.edit({ command })}
          hint="What the statement may do. It must agree with its first word."
        />
      </fieldset>
      {reads(draft.command) && <ResultSettings work={work} draft={draft} />}
      <h2>Columns</h2>
      <Columns signature={work.signature.value} />
      <h2>Variables</h2>
      {work.fields.value.length === 0 ? (
        <p class="hint">It has none.</p>
      ) : (
        <FactTable
          label="Variables"
          heads={['Variable', 'Type', 'Value']}
          rows={work.fields.value.map(({ key, shownType, required, list }) => [
            key,
            `${shownType || 'any'}${list && !shownType.endsWith('[]') ? ', list' : ''}`,
            required ? 'required' : 'optional',
          ])}
        />
      )}
      <p class="hint">
        Query id <code>{work.queryId}</code>
      </p>
    </div>
  );
}

const seconds = (text: string): number | undefined => (/^\d{1,5}$/.test(text) ? Number(text) : undefined);

/** What callers may rely on, and how long the hub keeps a result. */
function ResultSettings({ work, draft }: { work: QueryWork; draft: Draft }) {
  const { cache, notNull } = draft;
  const setCache = (maxAgeS: number | undefined, staleS: number | undefined) =>
    work.edit({
      cache: maxAgeS === undefined ? null : { maxAgeS, ...(staleS === undefined ? {} : { staleS }) },
    });
  return (
    <fieldset class="bare" disabled={!may('queries:write')}>
      <div class="columns-2">
        <Field
          label="Keep results for, seconds"
          value={String(cache?.maxAgeS ?? '')}
          onInput={(text) => setCache(seconds(text), cache?.staleS)}
          placeholder="not kept"
          hint="The hub answers with a kept result instead of running the query."
        />
        <Field
          label="Then refresh in the background for, seconds"
          value={String(cache?.staleS ?? '')}
          onInput={(text) => setCache(cache?.maxAgeS ?? 0, seconds(text))}
          placeholder="0"
          hint="Callers get the old result while the query runs."
        />
      </div>
      <Chips
        label="Columns that are never null"
        hint="A row without a value fails the execution with CONTRACT_BROKEN."
        values={notNull}
        placeholder="total"
        onChange={(names) => work.edit({ notNull: names })}
      />
    </fieldset>
  );
}

function Columns({ signature }: { signature: Signature | null | undefined }) {
  if (signature === undefined) return <p class="hint">Asking the source …</p>;
  if (signature === null) {
    return (
      <p class="hint">
        The source did not describe it. MongoDB never does; other sources may be unreachable.
      </p>
    );
  }
  const { columns, problem } = signature;
  if (problem !== undefined) {
    return <ProblemBox problem={{ status: 422, title: 'The database rejected this query', ...problem }} />;
  }
  if (columns.length === 0) return <p class="hint">It returns no columns.</p>;
  const nulls = (nullable: boolean | undefined) => (nullable === false ? 'never' : 'possible');
  const rows = columns.map(({ name, type, nullable }) => [name, type, nulls(nullable)]);
  return <FactTable label="Columns" heads={['Column', 'Type', 'Null']} rows={rows} />;
}

interface FactTableProps {
  label: string;
  heads: string[];
  rows: string[][];
}

export function FactTable({ label, heads, rows }: FactTableProps) {
  return (
    <Scrolling label={label}>
      <table class="facts">
        <TableHead names={heads} />
        <tbody>
          {rows.map((cells) => (
            <tr key={cells[0]}>
              {cells.map((cell, i) => (
                <td key={i}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolling>
  );
}
