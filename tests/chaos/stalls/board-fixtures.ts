/** What the routes of boards are sent, and what they read. */

import type { Fixtures } from './calls.ts';
import type { Prepared } from './prepared.ts';

const board = () => ({ label: 'b', cards: [{ text: 'x', values: { a: 1 } }], values: { a: 1 } });

export const boardFixtures: Record<string, Fixtures> = {
  'POST /v1/boards': {
    base: ({ ids: { hubId } }: Prepared) => ({ hubId, ...board() }),
    spots: [['values', 'a']],
  },
  'GET /v1/boards': { stored: ({ ids: { hubId } }) => ({ plain: { path: `/v1/boards?hubId=${hubId}` } }) },
  'GET /v1/boards/:boardId': { stored: () => ({ absent: { path: '/v1/boards/none' } }) },
  'PUT /v1/boards/:boardId': { path: () => '/v1/boards/none', base: board, status: 404 },
  'DELETE /v1/boards/:boardId': { stored: () => ({ absent: { path: '/v1/boards/none' } }) },
};
