/** Boards of the files and of the hub: reads those of the hub, compares them, and applies the changes. */

import type { Routes } from '@datahub/client';
import { type Hub, listAll } from '../hub.ts';
import { type BoardFile, changedBoardMembers } from './board-file.ts';
import { type ComparedPaths, comparePaths, type PathStep } from './compare-paths.ts';
import { changedSincePlan, hubChanged, readWithETag } from './conflicts.ts';
import type { BoardModel } from './model.ts';
import type { RemoteHub } from './remote.ts';

export interface RemoteBoard {
  boardId: string;
  model: BoardModel;
}

export type BoardStep = PathStep<'board', BoardFile, RemoteBoard>;

export interface RemoteBoards {
  boards: RemoteBoard[];
  /** The number of boards without a path, which files cannot name. */
  nameless: number;
}

/** A hub that does not exist yet has no boards. */
export async function readBoards(hub: Hub, remote: RemoteHub | undefined): Promise<RemoteBoards> {
  if (remote === undefined) return { boards: [], nameless: 0 };
  const found = await listAll(hub, 'GET /v1/boards', { hubId: remote.hubId, limit: 100 });
  const boards = found.flatMap((board): RemoteBoard[] =>
    board.path === null ? [] : [{ boardId: board.boardId, model: toModel(board, remote) }],
  );
  return { boards, nameless: found.length - boards.length };
}

type BoardAnswer = Routes['GET /v1/boards/{boardId}']['answer'];

/** A query that was deleted has its id for a path. */
function toModel(board: BoardAnswer, { queries }: Pick<RemoteHub, 'queries'>): BoardModel {
  const { label, path, values, refreshMinutes, cards } = board;
  const pathOf = (id: string) => queries.find(({ queryId }) => queryId === id)?.model.path ?? id;
  return {
    label,
    path: path ?? '',
    values,
    ...(refreshMinutes === null ? {} : { refreshMinutes }),
    cards: cards.map(({ queryId, path: query, ...card }) => ({
      ...card,
      ...(query === undefined ? {} : { query }),
      ...(queryId === undefined ? {} : { query: pathOf(queryId) }),
    })),
  } as BoardModel;
}

export const compareBoards = (
  files: readonly BoardFile[],
  present: RemoteBoards | undefined,
): ComparedPaths<BoardStep> =>
  comparePaths(files, present?.boards, { kind: 'board', changed: changedBoardMembers });

export async function applyBoard(
  hub: Hub,
  step: BoardStep,
  { remote }: { remote: RemoteHub | undefined },
): Promise<void> {
  if (remote === undefined) throw hubChanged();
  if (step.action === 'create') {
    await hub.call('POST /v1/boards', { body: { hubId: remote.hubId, ...toBody(step.file.model) } });
    return;
  }
  const path = { boardId: step.remote.boardId };
  const ifMatch = await requireUnchanged(hub, step.remote, remote);
  if (step.action === 'delete') await hub.call('DELETE /v1/boards/{boardId}', { path, ifMatch });
  else await hub.call('PUT /v1/boards/{boardId}', { path, body: toBody(step.file.model), ifMatch });
}

type Body = Omit<Routes['POST /v1/boards']['body'], 'hubId'>;

const toBody = ({ cards, ...board }: BoardModel): Body =>
  ({
    ...board,
    cards: cards.map(({ query, ...card }) => ({ ...card, ...(query === undefined ? {} : { path: query }) })),
  }) as Body;

/** Returns the ETag of a board that is still what the plan compared with. */
async function requireUnchanged(
  hub: Hub,
  { boardId, model }: RemoteBoard,
  remote: RemoteHub,
): Promise<string> {
  const { now, etag } = await readWithETag((onResponse) =>
    hub.call('GET /v1/boards/{boardId}', { path: { boardId }, onResponse }),
  );
  if (now.path === model.path && changedBoardMembers(toModel(now, remote), model).length === 0) return etag;
  throw changedSincePlan('board', model.path);
}
