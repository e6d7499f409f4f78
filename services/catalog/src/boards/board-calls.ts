/** The RPCs of boards. */

import { isDeepStrictEqual } from 'node:util';
import { type Complete, withoutUndefined } from '@datahub/contract/complete';
import { boardLimits, queryPathPattern } from '@datahub/contract/limits';
import type { Board, BoardSettings } from '@datahub/proto/catalog/v1/boards';
import type { CatalogServiceService } from '@datahub/proto/catalog/v1/catalog';
import { type Calls, requirePrincipal } from '@datahub/service-kit/call/call';
import { HubError, outcomeUnknown } from '@datahub/service-kit/call/error';
import {
  type Catalog,
  insertOnce,
  loadBoard,
  loadHub,
  makeContext,
  refusalOf,
  remove,
  update,
} from '../catalog.ts';
import { createChecker } from '../check.ts';
import type { BoardDoc } from '../documents.ts';
import { requireMayHaveBoards } from '../key-limits.ts';
import { listPage } from '../pagination.ts';
import { auditEntry, undoEntry } from '../rpc/audit.ts';
import { requireNoSecrets } from '../secret-variables/kept-secrets.ts';

const isPath = new RegExp(queryPathPattern);

export function createBoardCalls(catalog: Catalog) {
  const { store } = catalog;
  return {
    createBoard: createCreateBoard(catalog),

    listBoards: async ({ hubId, offset, limit }, ctx) => {
      const principal = requirePrincipal(ctx);
      requireMayHaveBoards(principal.limits);
      await loadHub(catalog, principal, hubId);
      const { accountId } = principal;
      const { docs, total } = await listPage(
        store.boards,
        { accountId, where: { hubId } },
        { offset, limit },
      );
      return { boards: docs.map(toBoard), total };
    },

    getBoard: async ({ boardId }, ctx) => ({
      board: toBoard(await loadBoard(catalog, requirePrincipal(ctx), boardId)),
    }),

    updateBoard: async ({ boardId, settings, ...expected }, ctx) => {
      const principal = requirePrincipal(ctx);
      const known = await loadBoard(catalog, principal, boardId);
      await requireNoSecrets(catalog, known, checkSettings(settings));
      const board = await update<BoardDoc>(catalog, {
        collection: store.boards,
        load: () => loadBoard(catalog, principal, boardId),
        change: (board) => {
          const { id, accountId, version, hubId, createdAt, updatedAt } = board;
          const kept = { id, accountId, version, hubId, createdAt, updatedAt };
          const next = { ...checkSettings(settings), ...kept };
          return isDeepStrictEqual(next, board) ? board : next;
        },
        expected,
        entry: auditEntry(catalog, ctx, { rpc: 'updateBoard', resourceId: boardId }),
      }).catch((err) => {
        throw toTaken(err, settings?.path);
      });
      return { board: toBoard(board) };
    },

    deleteBoard: async ({ boardId, ...expected }, ctx) => {
      const principal = requirePrincipal(ctx);
      await remove({
        collection: store.boards,
        load: () => loadBoard(catalog, principal, boardId),
        expected,
        entry: auditEntry(catalog, ctx, { rpc: 'deleteBoard', resourceId: boardId }),
      });
      return {};
    },
  } satisfies Partial<BoardCalls>;
}

type BoardCalls = Calls<typeof CatalogServiceService>;

function createCreateBoard(catalog: Catalog): BoardCalls['createBoard'] {
  const { store } = catalog;
  return async ({ hubId, settings }, ctx) => {
    const { principal, accountId, nowMs, createId } = makeContext(catalog, ctx);
    requireMayHaveBoards(principal.limits);
    const hub = await loadHub(catalog, principal, hubId);
    const checked = checkSettings(settings);
    await requireNoSecrets(catalog, { accountId, hubId: hub.id }, checked);
    const dates = { createdAt: nowMs, updatedAt: null };
    const board = {
      ...checked,
      id: createId('brd', nowMs),
      accountId,
      version: 1,
      hubId: hub.id,
      ...dates,
    };
    using _room = await catalog.quota.requireRoom(store.boards, board, 'boards');
    const entry = auditEntry(catalog, ctx, { rpc: 'createBoard', resourceId: board.id });
    const made = await insertOnce(store.boards, board, entry).catch((err) => {
      throw toTaken(err, board.path);
    });
    let refusal: HubError | undefined;
    try {
      // The hub may have been deleted meanwhile. Its sweep may have missed the board.
      refusal = await refusalOf(loadHub(catalog, principal, hubId));
      const companion = undoEntry(catalog, ctx, { rpc: 'deleteBoard', resourceId: board.id });
      if (refusal !== undefined) await store.boards.delete(accountId, board.id, { companion });
    } catch (err) {
      throw outcomeUnknown(err);
    }
    if (refusal !== undefined) throw refusal;
    return { board: toBoard(made) };
  };
}

type CheckedSettings = Pick<BoardDoc, 'label' | 'path' | 'cardsJson' | 'valuesJson' | 'refreshMinutes'>;

/** Throws VALIDATION with all faults. */
function checkSettings(settings: BoardSettings | undefined): CheckedSettings {
  if (settings === undefined) throw new HubError('INTERNAL', 'The call has no settings.');
  const { label, path = '', cardsJson, valuesJson, refreshMinutes } = settings;
  const check = createChecker();
  if (Buffer.byteLength(cardsJson) + Buffer.byteLength(valuesJson) > boardLimits.bytes.max)
    check.fault(['cards'], `and values must have at most ${boardLimits.bytes.max} bytes as JSON`);
  const checked: Complete<CheckedSettings> = {
    label: check.label(['label'], label),
    path: check.path(['path'], path, isPath),
    cardsJson,
    valuesJson,
    refreshMinutes:
      refreshMinutes === undefined
        ? undefined
        : check.integer(['refreshMinutes'], refreshMinutes, boardLimits.refreshMinutes),
  };
  check.done();
  return withoutUndefined<CheckedSettings>(checked);
}

function toTaken(err: unknown, path: string | undefined): unknown {
  if (!(err instanceof HubError) || err.code !== 'CONFLICT' || !path) return err;
  return new HubError('PATH_TAKEN', `Another board of the hub has the path ${path}.`, { cause: err });
}

const toBoard = (board: BoardDoc): Complete<Board> => ({
  boardId: board.id,
  hubId: board.hubId,
  settings: {
    label: board.label,
    path: board.path,
    cardsJson: board.cardsJson,
    valuesJson: board.valuesJson,
    refreshMinutes: board.refreshMinutes,
  },
  version: board.version,
  createdAt: new Date(board.createdAt),
  updatedAt: board.updatedAt === null ? undefined : new Date(board.updatedAt),
});
