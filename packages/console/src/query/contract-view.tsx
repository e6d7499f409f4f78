/** What the query promises: its columns and variables as its source describes them, and what it runs on. */

import { may } from '../api/permissions.ts';
import type { Signature } from '../api/types.ts';
import { Choice } from '../parts/field.tsx';
import { ProblemBox } from '../parts/problem.tsx';
import { commands } from './commands.ts';
import { SourceChoice } from './source-choice.tsx';
import type { QueryWork } from './work.ts';

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
      <h2>Columns</h2>
      <Columns signature={work.signature.value} />
      <h2>Variables</h2>
      {work.fields.value.length === 0 ? (
        <p class="hint">It has none.</p>
      ) : (
        <FactTable
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
  return <FactTable heads={['Column', 'Type', 'Null']} rows={rows} />;
}

export function FactTable({ heads, rows }: { heads: string[]; rows: string[][] }) {
  return (
    <div class="table-scroll">
      <table class="facts">
        <thead>
          <tr>
            {heads.map((head) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
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
    </div>
  );
}
