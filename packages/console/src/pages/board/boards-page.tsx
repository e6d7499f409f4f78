/** The boards of a hub. */

import { useState } from 'preact/hooks';
import { call, callJson, part } from '../../api/client.ts';
import { may } from '../../state/permissions.ts';
import { go, linkTo, route } from '../../state/route.ts';
import { hubId } from '../../state/workspace.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { counted, moment } from '../../ui/format.ts';
import { Listed } from '../../ui/listed.tsx';
import { useLoad } from '../../ui/load.tsx';
import { Menu } from '../../ui/menu.tsx';
import { PageHead } from '../../ui/page.tsx';
import { ActionsHead, Scrolling, TableHead } from '../../ui/table.tsx';
import { readBoards } from '../hub/board-links.tsx';
import type { Board } from './board.ts';
import { BoardPage } from './board-page.tsx';

/** `boards`, `boards/<id of a board>` or `boards/<id>/edit`. */
export function BoardsPage() {
  const [, hub = '', , id, how] = route.value;
  if (id === undefined) return <Boards />;
  return <BoardPage key={id} hubId={hub} boardId={id} isEdited={how === 'edit'} />;
}

function Boards() {
  const id = hubId.value ?? '';
  const loaded = useLoad((signal) => readBoards(id, signal), [id]);
  const [isNew, setNew] = useState(false);
  return (
    <div class="page">
      <PageHead title="Boards">
        {may('queries:write') && (
          <button type="button" class="primary" onClick={() => setNew(true)}>
            New board
          </button>
        )}
      </PageHead>
      <p class="hint">A board shows several queries and texts on one page, with shared values.</p>
      <Listed of={loaded} what="the boards" empty="No boards yet.">
        {(boards) => <BoardTable boards={boards} onChange={loaded.refresh} />}
      </Listed>
      {isNew && <NewBoard hub={id} onClose={() => setNew(false)} />}
    </div>
  );
}

function NewBoard({ hub, onClose }: { hub: string; onClose(): void }) {
  const [label, setLabel] = useState('');
  const create = async () => {
    const { boardId } = await callJson<Board>('v1/boards', { body: { hubId: hub, label, cards: [] } });
    go('hub', hub, 'boards', boardId, 'edit');
  };
  return (
    <FormDialog
      title="New board"
      action="Create"
      disabled={label.trim() === ''}
      onClose={onClose}
      onSubmit={create}
    >
      <Field label="Name" value={label} onInput={setLabel} required autofocus />
    </FormDialog>
  );
}

function BoardTable({ boards, onChange }: { boards: readonly Board[]; onChange(): void }) {
  const [removed, setRemoved] = useState<Board>();
  return (
    <Scrolling label="Boards">
      <table class="facts boards stacked">
        <TableHead names={['Name', 'Cards', 'Path', 'Changed']}>
          <ActionsHead />
        </TableHead>
        <tbody>
          {boards.map((board) => (
            <tr key={board.boardId}>
              <td class="cut-text">
                <a href={linkTo('hub', board.hubId, 'boards', board.boardId)} title={board.label}>
                  {board.label}
                </a>
              </td>
              <td>{counted(board.cards.length, 'card')}</td>
              <td class="mono" data-name="Path">
                {board.path}
              </td>
              <td class="when" data-name="Changed">
                {moment(board.updatedAt ?? board.createdAt)}
              </td>
              <td class="right">
                <Menu
                  label={`Actions for ${board.label}`}
                  items={[
                    {
                      label: 'Edit',
                      needs: 'queries:write',
                      run: () => go('hub', board.hubId, 'boards', board.boardId, 'edit'),
                    },
                    {
                      label: 'Delete …',
                      danger: true,
                      needs: 'queries:write',
                      run: () => setRemoved(board),
                    },
                  ]}
                />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {removed !== undefined && (
        <FormDialog
          title={`Delete “${removed.label}”?`}
          action="Delete the board"
          danger
          onClose={() => setRemoved(undefined)}
          onSubmit={() => call(`v1/boards/${part(removed.boardId)}`, { method: 'DELETE' }).then(onChange)}
        >
          <p>Its queries stay. Links to the board lead to nothing afterwards.</p>
        </FormDialog>
      )}
    </Scrolling>
  );
}
