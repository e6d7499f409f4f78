/** The variables of a query: their values, and their declarations. */

import { useState } from 'preact/hooks';
import { may } from '../../state/permissions.ts';
import type { QueryEditor } from '../../state/query-editor.ts';
import { VariableDialog } from './variable-dialog.tsx';
import { VariableInputs } from './variable-inputs.tsx';

interface VariablesPanelProps {
  editor: QueryEditor;
  shown: boolean;
  onRun(): void;
}

export function VariablesPanel({ editor, shown, onRun }: VariablesPanelProps) {
  const [edited, setEdited] = useState<string>();
  return (
    <section class="variables" aria-label="Variables">
      <h2>Variables</h2>
      {editor.fields.value.length === 0 && (
        <p class="hint">
          No variables yet. Write <code>:name</code> in place of a value. The driver binds the value, so it
          never becomes part of the text.
        </p>
      )}
      <VariableInputs
        editor={editor}
        shown={shown}
        onEdit={may('queries:write') ? setEdited : undefined}
        onEnter={onRun}
      />
      {edited !== undefined && (
        <VariableDialog editor={editor} name={edited} onClose={() => setEdited(undefined)} />
      )}
    </section>
  );
}
