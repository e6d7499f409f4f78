/** The tables of the source beside the statement, with keys, comments, estimates of rows and a preview. */

import type { QueryEditor } from '../../state/query-editor.ts';
import { SchemaBrowser } from '../source/schema-browser.tsx';

export function TablesPane({ editor, sourceId }: { editor: QueryEditor; sourceId: string }) {
  return (
    <aside class="tables-pane" aria-label="Tables">
      <SchemaBrowser key={sourceId} sourceId={sourceId} engine={editor.engine.value} first="" isBeside />
    </aside>
  );
}
