/** Boards: pages of cards of queries and texts. */

import type { Complete } from '@datahub/contract/complete';
import { boardLimits, cardSizes, queryLimits } from '@datahub/contract/limits';
import type { Board, BoardSettings } from '@datahub/proto/catalog/v1/boards';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { expectedVersions } from '../http/if-match.ts';
import { memberJson } from '../http/json-body.ts';
import {
  createdAtOf,
  type FromSchema,
  id,
  label,
  list,
  nothing,
  object,
  orNull,
  queryPath,
  readOnly,
  record,
  text,
  textOrNull,
  time,
  timeOrNull,
  toTimestamp,
} from '../http/json-schema.ts';
import { readPage } from '../http/pagination.ts';
import { requireText } from '../http/query-params.ts';
import { setVersion } from '../http/request-context.ts';
import { validationError } from '../http/request-error.ts';
import { type Handler, paged, type Route, required } from '../http/route.ts';
import { JsonText, writeJson } from '../response/json-splices.ts';
import { sendList } from '../response/list-response.ts';
import type { ResourceDeps } from './resource-deps.ts';

export function boardRoutes(deps: ResourceDeps): Route[] {
  const handlers = createBoardHandlers(deps);
  // biome-ignore format: one line a route.
  return [
    { method: 'POST', path: '/v1/boards', scope: 'queries:write', summary: 'Create a board', audit: 'by catalog', body: boardBody, settledBy: 'audit', response: board, handler: handlers.create },
    { method: 'GET', path: '/v1/boards', scope: 'queries:read', summary: 'List the boards of a hub', query: ['hubId', ...paged], response: boards, handler: handlers.list },
    { method: 'GET', path: '/v1/boards/:boardId', scope: 'queries:read', summary: 'Get a board', response: board, handler: handlers.get },
    { method: 'PUT', path: '/v1/boards/:boardId', scope: 'queries:write', summary: 'Replace a board', audit: 'by catalog', body: updateBoardBody, versioned: true, response: board, handler: handlers.update },
    { method: 'DELETE', path: '/v1/boards/:boardId', scope: 'queries:write', summary: 'Delete a board', audit: 'by catalog', versioned: true, response: nothing, handler: handlers.remove },
  ];
}

const paging = { limitDefault: 100, limitMax: 1_000 };

const scalar = ['string', 'number', 'boolean'] as const;
/** What the query string of a read can say. */
export const values = {
  type: 'object',
  maxProperties: queryLimits.variables.max,
  additionalProperties: {
    type: [...scalar, 'array'],
    maxItems: 1_000,
    items: { type: scalar },
  },
} as const;
/** What the console draws, as in `presentation` of a query. */
const presentation = object({
  chart: { type: ['object', 'null'] },
  columns: { type: ['object', 'array', 'null'] },
});
const { textCharacters, refreshMinutes, cards } = boardLimits;
/** Has one of `queryId`, `path` and `text`. */
const card = object({
  queryId: id,
  path: queryPath,
  text: { type: 'string', minLength: textCharacters.min, maxLength: textCharacters.max },
  label,
  size: { type: 'string', enum: cardSizes },
  values,
  presentation,
});
const settings = {
  label,
  path: orNull(queryPath),
  cards: { type: 'array', maxItems: cards.max, items: card },
  values,
  refreshMinutes: {
    type: ['integer', 'null'],
    minimum: refreshMinutes.min,
    maximum: refreshMinutes.max,
  },
} as const;
const hubSets = readOnly('boardId', 'createdAt', 'updatedAt');
export const boardBody = object({ hubId: id, ...settings, ...hubSets }, ['hubId', 'label', 'cards']);
/** A board stays in its hub. */
export const updateBoardBody = object({ ...settings, ...readOnly('hubId'), ...hubSets }, ['label', 'cards']);

export const board = record({
  boardId: text,
  hubId: text,
  label: text,
  path: textOrNull,
  cards: list(
    record(
      {
        queryId: text,
        path: text,
        text,
        label: text,
        size: { type: 'string', enum: cardSizes },
        values: { type: 'object' },
        presentation: { type: 'object' },
      },
      ['queryId', 'path', 'text', 'label', 'size', 'values', 'presentation'],
    ),
  ),
  values: { type: 'object' },
  refreshMinutes: orNull({ type: 'integer' } as const),
  createdAt: time,
  updatedAt: timeOrNull,
});
export const boards = list(board);

type Body = FromSchema<typeof boardBody>;
type BoardJson = FromSchema<typeof board>;

const boardIdOf = (request: FastifyRequest) => (request.params as { boardId: string }).boardId;

/** Throws VALIDATION for a card that shows nothing, or several things. */
function toSettings(request: FastifyRequest): Complete<BoardSettings> {
  const body = request.body as Omit<Body, 'hubId'>;
  const faults = body.cards.flatMap((one, i) =>
    ['queryId', 'path', 'text'].filter((name) => name in one).length === 1
      ? []
      : [{ pointer: `/cards/${i}`, detail: 'must have one of queryId, path and text' }],
  );
  if (faults.length > 0) throw validationError(faults);
  return {
    label: body.label,
    path: body.path ?? undefined,
    cardsJson: memberJson(request, 'cards', body.cards),
    valuesJson: memberJson(request, 'values', body.values ?? {}),
    refreshMinutes: body.refreshMinutes ?? undefined,
  };
}

function createBoardHandlers({ upstreams: { catalog }, settings }: ResourceDeps) {
  const send = (reply: FastifyReply, found: Board | undefined) => {
    setVersion(reply, found?.version);
    return reply
      .header('content-type', 'application/json; charset=utf-8')
      .send(writeJson(toBoardJson(required(found))));
  };
  return {
    create: async (request, reply) => {
      const { hubId } = request.body as Body;
      const created = await catalog.createBoard({ hubId, settings: toSettings(request) }, request.context);
      return send(reply, created.board);
    },

    list: async (request, reply) => {
      const page = readPage(request, paging);
      const hubId = requireText(request, 'hubId');
      const { boards: items, total } = await catalog.listBoards({ hubId, ...page }, request.context);
      return sendList(reply, { items, toJson: toBoardJson, page, total }, settings);
    },

    get: async (request, reply) => {
      const { board } = await catalog.getBoard({ boardId: boardIdOf(request) }, request.context);
      return send(reply, board);
    },

    update: async (request, reply) => {
      const { board } = await catalog.updateBoard(
        { boardId: boardIdOf(request), settings: toSettings(request), ...expectedVersions(request) },
        request.context,
      );
      return send(reply, board);
    },

    remove: async (request) => {
      await catalog.deleteBoard(
        { boardId: boardIdOf(request), ...expectedVersions(request) },
        request.context,
      );
      return {};
    },
  } satisfies Record<string, Handler>;
}

function toBoardJson(board: Board): Complete<BoardJson> {
  const { label, path, cardsJson, valuesJson, refreshMinutes } = board.settings as BoardSettings;
  return {
    boardId: board.boardId,
    hubId: board.hubId,
    label,
    path: path ?? null,
    cards: JsonText.of<BoardJson['cards']>(cardsJson),
    values: JsonText.of<Record<string, unknown>>(valuesJson),
    refreshMinutes: refreshMinutes ?? null,
    createdAt: createdAtOf(board),
    updatedAt: toTimestamp(board.updatedAt),
  };
}
