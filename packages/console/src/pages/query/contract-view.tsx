/** The contract of the query: its columns and variables as its source describes them, and its settings. */

import { useRef } from 'preact/hooks';
import type { CachePolicy } from '../../api/types.ts';
import { commands, reads } from '../../state/commands.ts';
import { may } from '../../state/permissions.ts';
import type { Draft } from '../../state/query-editor.ts';
import type { StoredQueryEditor } from '../../state/stored-query-editor.ts';
import { Chips } from '../../ui/chips.tsx';
import { Choice, Field, Tick } from '../../ui/field.tsx';
import { ProblemBox } from '../../ui/problem.tsx';
import { SessionFacts } from '../../ui/session-facts.tsx';
import { StepFacts } from '../../ui/step-facts.tsx';
import { Scrolling, TableHead } from '../../ui/table.tsx';
import { SourceChoice } from './source-choice.tsx';

export function ContractView({ editor }: { editor: StoredQueryEditor }) {
  const draft = editor.draft.value;
  if (draft === undefined) return null;
  const verbs = commands.includes(draft.command) ? commands : [draft.command, ...commands];
  return (
    <div class="page contract">
      <fieldset class="bare columns-2" disabled={!may('queries:write')}>
        <SourceChoice value={draft.sourceId} onChange={(sourceId) => editor.edit({ sourceId })} />
        {draft.steps === undefined && (
          <Choice
            label="Command"
            value={draft.command}
            options={verbs.map((verb) => [verb, verb] as const)}
            onChange={(command) => editor.edit({ command })}
            hint="The kind of statement. It must match the first word of the text."
          />
        )}
      </fieldset>
      {reads(draft.command) && <ResultSettings editor={editor} draft={draft} />}
      <fieldset class="bare" disabled={!may('queries:write')}>
        <Tick
          label="Keep the values of runs"
          checked={draft.keepValues === true}
          onChange={(kept) => editor.edit({ keepValues: kept ? true : undefined })}
          hint="Whoever may see a run then sees the values of its variables, without secret and pinned ones."
        />
      </fieldset>
      <StepFacts config={editor.stored.value?.config} />
      <h2>Columns</h2>
      <Columns editor={editor} />
      <h2>Variables</h2>
      {editor.fields.value.length === 0 ? (
        <p class="hint">It has no variables.</p>
      ) : (
        <FactTable
          label="Variables"
          heads={['Variable', 'Type', 'Value']}
          rows={editor.fields.value.map(({ key, shownType, required, list }) => [
            key,
            `${shownType || 'any'}${list && !shownType.endsWith('[]') ? ', list' : ''}`,
            required ? 'required' : 'optional',
          ])}
        />
      )}
      <p class="hint">
        Query id <code>{editor.queryId}</code>
      </p>
    </div>
  );
}

const seconds = (text: string): number | undefined => (/^\d{1,5}$/.test(text) ? Number(text) : undefined);

/**
 * Changes the cache of the draft. While its first time is empty, as when it is typed again, the other members are kept.
 */
function useCache(editor: StoredQueryEditor, { cache }: Draft): (change: Partial<CachePolicy>) => void {
  const latest = useRef<CachePolicy | null>(null);
  if (cache !== null || !editor.dirty.value) latest.current = cache;
  return (change) => {
    const { maxAgeS, staleS, validate } = { ...latest.current, maxAgeS: cache?.maxAgeS ?? 0, ...change };
    if (maxAgeS === undefined) return editor.edit({ cache: null });
    editor.edit({
      cache: {
        maxAgeS,
        ...(staleS === undefined ? {} : { staleS }),
        ...(validate === undefined ? {} : { validate }),
      },
    });
  };
}

/** The settings of results: columns that are never null, and the cache. */
function ResultSettings({ editor, draft }: { editor: StoredQueryEditor; draft: Draft }) {
  const { cache, notNull } = draft;
  const setCache = useCache(editor, draft);
  return (
    <fieldset class="bare" disabled={!may('queries:write')}>
      <div class="columns-2">
        <Field
          label="Cache results for, seconds"
          value={String(cache?.maxAgeS ?? '')}
          onInput={(text) => setCache({ maxAgeS: seconds(text) })}
          placeholder="not kept"
          hint="The hub answers with a cached result instead of running the query."
        />
        <Field
          label="Then refresh in the background for, seconds"
          value={String(cache?.staleS ?? '')}
          onInput={(text) => setCache({ staleS: seconds(text) })}
          placeholder="0"
          hint="During this time callers get the old result while the query runs."
        />
      </div>
      {editor.engine.value !== 'mongodb' && (
        <Field
          label="Check for changes with"
          value={cache?.validate ?? ''}
          onInput={(text) => setCache({ validate: text.trim() === '' ? undefined : text })}
          rows={2}
          mono
          placeholder="SELECT max(updated_at) FROM orders"
          hint="A cheap SELECT with one row. If its row is the same as before, the hub keeps the result and does not run the query."
        />
      )}
      <Chips
        label="Columns that are never null"
        hint="A row without a value fails the execution with CONTRACT_BROKEN."
        values={notNull}
        placeholder="total"
        onChange={(names) => editor.edit({ notNull: names })}
      />
      <SessionFacts session={draft.session} />
    </fieldset>
  );
}

function Columns({ editor }: { editor: StoredQueryEditor }) {
  const signature = editor.signature.value;
  if (signature === undefined) return <p class="hint">Describing the query at its source …</p>;
  if (signature === null) {
    if (editor.engine.value === 'mongodb') return <p class="hint">MongoDB cannot describe queries.</p>;
    return (
      <div class="actions start">
        <span class="hint">The source did not describe the query in time.</span>
        <button type="button" onClick={() => void editor.describe()}>
          Ask it again
        </button>
      </div>
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
