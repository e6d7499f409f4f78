/** A query that is not stored yet. */

import { computed } from '@preact/signals';
import type { Variable } from '../api/types.ts';
import { type Draft, QueryEditor } from './query-editor.ts';
import { readOutline } from './variables.ts';
import { sources } from './workspace.ts';

interface Start {
  text: string;
  sourceId: string;
  context: Variable[];
  /** Of the query that this is a copy of. */
  copied?: Draft | undefined;
}

export class NewQueryEditor extends QueryEditor {
  readonly engine = computed(() => {
    const { sourceId } = this.draft.value ?? {};
    return sources.value.find((one) => one.sourceId === sourceId)?.engine ?? '';
  });
  readonly isDraft = computed(() => true);
  readonly label = computed(() => 'draft');

  constructor({ text, sourceId, context, copied }: Start) {
    super();
    if (copied !== undefined) {
      this.draft.value = copied;
      return;
    }
    this.draft.value = { text, sourceId, context, command: '', cache: null, notNull: [] };
    // The hub finds the command of what the page does not recognize.
    this.edit({ command: readOutline({ text, context, engine: this.engine.value }).command ?? '' });
  }
}
