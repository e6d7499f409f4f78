/** What the query promises: its columns and variables as its source describes them, and what it runs on. */

import { Choice } from '../parts/field.tsx';
import { engineName } from '../parts/format.ts';
import { ProblemBox } from '../parts/problem.tsx';
import { sources } from '../shell/workspace.ts';
import { commands } from './commands.ts';
import type { QueryWork } from './work.ts';

export function ContractView({ work, editable }: { work: QueryWork; editable: boolean }) {
  const draft = work.draft.value;
  const signature = work.signature.value;
  if (draft === undefined) return null;
  const known = sources.value.map(
    ({ sourceId, label, engine }) => [sourceId, `${label} (${engineName(engine)})`] as const,
  );
  const options = known.some(([id]) => id === draft.sourceId)
    ? known
    : [[draft.sourceId, draft.sourceId] as const, ...known];
  const verbs = commands.includes(draft.command) ? commands : [draft.command, ...commands];
  return (
    <div class="page contract">
      <div class="columns-2">
        <Choice
          label="Source"
          value={draft.sourceId}
          options={options}
          disabled={!editable}
          onChange={(sourceId) => work.edit({ sourceId })}
        />
        <Choice
          label="Command"
          value={draft.command}
          options={verbs.map((verb) => [verb, verb] as const)}
          disabled={!editable}
          onChange={(command) => work.edit({ command })}
          hint="What the statement may do. It must agree with its first word."
        />
      </div>
      <h2>Columns</h2>
      {signature?.problem !== undefined && (
        <ProblemBox
          problem={{ status: 422, title: 'The database rejected this query', ...signature.problem }}
        />
      )}
      {signature === undefined && <p class="hint">Asking the source …</p>}
      {signature === null && (
        <p class="hint">The source did not describe it. MongoDB describes none; others may be away.</p>
      )}
      {signature !== undefined && signature !== null && signature.columns.length > 0 && (
        <FactTable
          heads={['Column', 'Type', 'Null']}
          rows={signature.columns.map(({ name, type, nullable }) => [
            name,
            type,
            nullable === false ? 'never' : 'possible',
          ])}
        />
      )}
      {signature !== undefined &&
        signature !== null &&
        signature.columns.length === 0 &&
        signature.problem === undefined && <p class="hint">It returns no columns.</p>}
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
