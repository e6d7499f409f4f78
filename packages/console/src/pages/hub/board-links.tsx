/** The boards of a hub, on its home. */

import { callList, part } from '../../api/client.ts';
import type { Answer } from '../../api/types.ts';
import { linkTo } from '../../state/route.ts';
import { Icon } from '../../ui/icons.tsx';
import { useLoad } from '../../ui/load.tsx';

type Board = Answer<'GET /v1/boards'>[number];

export const readBoards = (id: string, signal: AbortSignal): Promise<Board[]> =>
  callList(`v1/boards?hubId=${part(id)}`, { signal, pageSize: 100 });

const shownMax = 12;

export function BoardLinks({ hubId }: { hubId: string }) {
  const boards = useLoad((signal) => readBoards(hubId, signal), [hubId]).value ?? [];
  if (boards.length === 0) return null;
  return (
    <nav class="board-links" aria-label="Boards of the hub">
      {boards.slice(0, shownMax).map(({ boardId, label }) => (
        <a key={boardId} class="button" href={linkTo('hub', hubId, 'boards', boardId)} title={label}>
          <Icon name="table" /> <span class="row-label">{label}</span>
        </a>
      ))}
      {boards.length > shownMax && (
        <a href={linkTo('hub', hubId, 'boards')}>and {boards.length - shownMax} more</a>
      )}
    </nav>
  );
}
