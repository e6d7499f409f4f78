/** Changes of boards that are not saved, by key. They stay until the tab is closed, also if it loads the page again. */

import { parseExact } from '../../api/exact.ts';
import { ofTab } from '../../api/storage.ts';
import { currentKey } from '../../state/permissions.ts';
import type { BoardDraft, BoardFields } from './board.ts';

export interface Unsaved {
  draft: BoardDraft;
  /** The board as the person was shown it. */
  base: BoardFields;
}

const storedAs = 'datahub.boards';
const unsaved = new Map(parseExact<[string, Unsaved][]>(ofTab.get(storedAs) ?? '[]'));

const nameOf = (boardId: string): string => `${currentKey.value?.keyId} ${boardId}`;

export const unsavedOf = (boardId: string): Unsaved | undefined => unsaved.get(nameOf(boardId));

export const keepUnsaved = (boardId: string, changes: Unsaved): void =>
  void unsaved.set(nameOf(boardId), changes);

export const forgetUnsaved = (boardId: string): void => void unsaved.delete(nameOf(boardId));

/** Not earlier, because boards can be large. If the browser does not keep them, it asks before it leaves the page. */
function store(event: Event): void {
  if (unsaved.size === 0) ofTab.remove(storedAs);
  else if (!ofTab.set(storedAs, JSON.stringify([...unsaved]))) event.preventDefault();
}
addEventListener('beforeunload', store);
addEventListener('pagehide', store);
