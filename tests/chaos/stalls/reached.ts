/** The routes that the fixtures call. */

import type { Route } from '../../../services/gateway/src/http/route.ts';
import { describeRoutes } from '../../../services/gateway/src/routes.ts';

const mcp = { method: 'POST', path: '/mcp', body: { type: 'object' } } as unknown as Route;

/** By method and path. */
export const routes: ReadonlyMap<string, Route> = new Map(
  [...describeRoutes(), mcp].map((route) => [`${route.method} ${route.path}`, route]),
);
