/** Views whose code is loaded after the first page. */

import type { ComponentChild } from 'preact';
import { useLoad } from './load.tsx';
import { Loading } from './page.tsx';
import { ProblemBox } from './problem.tsx';

type LaterViews = typeof import('../later.ts');

export const loadLater = (): Promise<LaterViews> => import('../later.ts');

export function Later({ children }: { children(views: LaterViews): ComponentChild }) {
  const loaded = useLoad(loadLater, []);
  if (loaded.problem !== undefined) {
    const detail = 'Its code could not be loaded. Reload the page.';
    return <ProblemBox problem={{ status: 0, title: 'The page is incomplete', detail }} />;
  }
  if (loaded.value === undefined) return <Loading what="the page" />;
  return <>{children(loaded.value)}</>;
}
