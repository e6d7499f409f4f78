/** Views whose code is loaded after the first page. */

import type { ComponentChild } from 'preact';
import { useLoad } from '../ui/load.tsx';
import { Loading } from '../ui/page.tsx';
import { ProblemBox } from '../ui/problem.tsx';

type LaterViews = typeof import('./lazy-views.ts');

export const loadLater = (): Promise<LaterViews> => import('./lazy-views.ts');

export function Later({ children }: { children(views: LaterViews): ComponentChild }) {
  const loaded = useLoad(loadLater, []);
  if (loaded.problem !== undefined) {
    const detail = 'Its code could not be loaded. Reload the page.';
    return <ProblemBox problem={{ status: 0, title: 'The page is incomplete', detail }} />;
  }
  if (loaded.value === undefined) return <Loading what="the page" />;
  return <>{children(loaded.value)}</>;
}
