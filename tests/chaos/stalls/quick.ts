/** One route of each shape: `npm test` calls only these, in their main places. `TEST_SCALE=full` calls all routes. */

import type { Shape } from './payloads.ts';
import type { Path } from './spots.ts';

interface Quick {
  spots: Path[];
  shapes: readonly Shape[];
  /** The names of cases; all if it is absent. */
  stored?: string[];
  /** Also many at once: of all cases, or of these. */
  together?: true | string[];
}

const wide = '4,000 columns of mariadb as arrow';
const costly: Shape[] = ['decimals', 'members', 'deep', 'long'];
export const quick: Record<string, Quick> = {
  'GET /v1/queries': { spots: [], shapes: [] },
  'GET /v1/queries/:queryId': { spots: [], shapes: [], stored: ['most', 'objects'], together: true },
  'GET /v1/hubs/:hubId/openapi.json': { spots: [], shapes: [], stored: ['most', 'objects'] },
  'POST /v1/queries': { spots: [['unknown'], ['context', 0, 'value']], shapes: costly },
  'POST /v1/queries/check': { spots: [], shapes: [], stored: ['most tokens'], together: true },
  'POST /v1/queries/execute': {
    spots: [['context', 'a']],
    shapes: costly,
    stored: ['most', 'rows of numbers as json', 'rows of columns as csv', 'annotated rows of long', wide],
    together: [wide],
  },
  'POST /v1/keys': { spots: [['limits', 'context', 'a']], shapes: costly },
  'POST /v1/ai/summarize': {
    spots: [['context']],
    shapes: ['members', 'long'],
    stored: ['rows of columns'],
  },
  'POST /mcp': { spots: [['params', 'arguments', 'a']], shapes: costly, stored: ['list', 'most'] },
};
