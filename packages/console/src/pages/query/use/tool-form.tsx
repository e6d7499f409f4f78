/** Offers the query to agents as a tool. */

import { useState } from 'preact/hooks';
import { problemOf } from '../../../api/client.ts';
import type { Problem } from '../../../api/types.ts';
import { needs } from '../../../state/permissions.ts';
import type { StoredQueryEditor } from '../../../state/stored-query-editor.ts';
import { Field } from '../../../ui/field.tsx';
import { ProblemBox } from '../../../ui/problem.tsx';
import { toolNameOf } from './forms.ts';

export function ToolForm({ editor }: { editor: StoredQueryEditor }) {
  const stored = editor.stored.value;
  const tool = stored?.config.tool ?? undefined;
  const [name, setName] = useState(tool?.name ?? toolNameOf(stored?.meta.label ?? ''));
  const [description, setDescription] = useState(tool?.description ?? '');
  const [problem, setProblem] = useState<Problem>();
  const isSame = name === tool?.name && description === tool?.description;
  const save = async (change: { name: string; description: string } | null) => {
    setProblem(undefined);
    await editor.setTool(change).catch((err) => setProblem(problemOf(err)));
  };
  const submit = (event: Event) => {
    event.preventDefault();
    void save({ name: name.trim(), description: description.trim() });
  };
  return (
    <form class="form tool-form" onSubmit={submit}>
      <Field label="Name of the tool" value={name} onInput={setName} mono required />
      <Field
        label="What agents read about it"
        value={description}
        onInput={setDescription}
        required
        placeholder="Returns the quantity and the amount of each product in a region."
      />
      <div class="actions start">
        <button
          type="submit"
          {...needs('queries:write', isSame || name.trim() === '' || description.trim() === '')}
        >
          {tool === undefined ? 'Offer it to agents' : 'Save'}
        </button>
        {tool !== undefined && (
          <button type="button" class="quiet" onClick={() => void save(null)} {...needs('queries:write')}>
            Hide it from agents
          </button>
        )}
      </div>
      {problem !== undefined && <ProblemBox problem={problem} />}
    </form>
  );
}
