/** The settings of a board that is edited. */

import { Field } from '../../ui/field.tsx';
import { type BoardDraft, fieldNames, isMinutes } from './board.ts';

interface BoardSettingsProps {
  draft: BoardDraft;
  onChange(change: Partial<BoardDraft>): void;
}

export const BoardSettings = ({ draft, onChange }: BoardSettingsProps) => (
  <div class="board-settings">
    <Field label={fieldNames.label} value={draft.label} onInput={(label) => onChange({ label })} required />
    <Field
      label={fieldNames.path}
      value={draft.path}
      onInput={(path) => onChange({ path })}
      hint="For files of the hub, such as sales/daily."
      mono
    />
    <Field
      label={fieldNames.refreshMinutes}
      value={draft.refreshMinutes}
      onInput={(refreshMinutes) => onChange({ refreshMinutes })}
      placeholder="never"
      fault={isMinutes(draft.refreshMinutes) ? undefined : 'Write a whole number from 1 to 1440.'}
    />
  </div>
);
