/** The tables of the source beside the statement, with keys, comments, estimates of rows and a preview. */

import type { DraftWork } from '../../state/draft-work.ts';
import { SchemaBrowser } from '../source/schema-browser.tsx';

export function TablesPane({ work, sourceId }: { work: DraftWork; sourceId: string }) {
  return (
    <aside class="tables-pane" aria-label="Tables">
      <SchemaBrowser key={sourceId} sourceId={sourceId} engine={work.engine.value} first="" isBeside />
    </aside>
  );
}
