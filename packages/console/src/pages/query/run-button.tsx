/** Runs what the page shows, and cancels it. */

import { reads } from '../../state/commands.ts';
import { needs } from '../../state/permissions.ts';
import type { QueryEditor } from '../../state/query-editor.ts';
import { Icon } from '../../ui/icons.tsx';
import { modifier } from '../../ui/keyboard.ts';
import type { RunActions } from './run-actions.tsx';

interface RunButtonProps {
  editor: QueryEditor;
  run: RunActions;
  /** True if running is the next thing to do. */
  isNext: boolean;
}

export function RunButton({ editor, run, isNext }: RunButtonProps) {
  const asks = !reads(editor.draft.value?.command ?? '');
  const isDraft = editor.isDraft.value;
  if (editor.runner.state.value.status === 'running') {
    return (
      <button type="button" class="danger run-button" onClick={() => editor.runner.cancel()}>
        <Icon name="stop" /> Cancel
      </button>
    );
  }
  return (
    <button
      type="button"
      class={isNext ? 'primary run-button' : 'run-button'}
      onClick={() => run.ask()}
      {...needs(asks ? 'queries:execute:write' : 'queries:execute')}
    >
      {isDraft ? (asks ? 'Dry run …' : 'Run draft') : asks ? 'Run …' : 'Run'} <kbd>{modifier}⏎</kbd>
    </button>
  );
}
